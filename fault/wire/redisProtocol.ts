import type { Protocol } from './protocol.js';
import type { Measure } from './splitter.js';

const CR = '\r'.charCodeAt(0);

/** Redis: a request is one command, with one response. Both are RESP values. */
export const redisProtocol: Protocol = {
  requests: () => measureValue,
  replies: () => measureValue,
  isAnswered: () => true,
  endsResponse: () => true,
  greetings: 0,
};

const measureValue: Measure = (bytes, start) => {
  const lineEnd = bytes.indexOf(CR, start);
  if (lineEnd < 0 || bytes.length < lineEnd + 2) return undefined;
  const next = lineEnd + 2;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  const count = Number(bytes.toString('latin1', start + 1, lineEnd));
  if (kind === '$') {
    const end = count < 0 ? next : next + count + 2;
    return bytes.length < end ? undefined : end;
  }
  if (kind !== '*') return next;
  let end: number | undefined = next;
  for (let item = 0; item < count && end !== undefined; item++) end = measureValue(bytes, end);
  return end;
};
