/**
 * Posts JSON and reads the response: its status (0 when there was none), its body as far as it is JSON, its length in
 * characters and the time it took.
 */
export async function send(path, fields, token = '') {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  if (token !== '') headers.authorization = `Bearer ${token}`;
  const startedAt = performance.now();
  let status = 0;
  let isOk = false;
  let text = '';
  try {
    const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(fields) });
    text = await response.text();
    ({ status, ok: isOk } = response);
  } catch (error) {
    text = String(error);
  }
  return { status, isOk, body: read(text), elapsedMs: performance.now() - startedAt, length: text.length };
}

function read(text) {
  try {
    return JSON.parse(text, exactNumber);
  } catch {
    return { error: text };
  }
}

/** A number that is longer than JavaScript's keeps every digit when it is shown, in browsers that can. */
function exactNumber(_key, value, context) {
  const isChanged = typeof value === 'number' && context?.source !== undefined && String(value) !== context.source;
  return isChanged && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}
