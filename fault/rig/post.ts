/** Posts JSON and reads the JSON that comes back. Rejects when no answer came, or one that names errors. */
export async function post<T>(url: string, body: unknown, token?: string, timeoutMs = 20_000): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = (await response.json()) as T & { errors?: unknown; error?: unknown };
  if (answer.errors ?? answer.error) throw new Error(`${url} answered ${JSON.stringify(answer)}`);
  return answer;
}
