/** A response with errors. */
export class Refused extends Error {
  readonly atMs = Date.now();
  /** Of the first error. */
  readonly code: string;

  constructor(
    url: string,
    readonly status: number,
    readonly body: string,
    /** From Retry-After, in seconds. */
    readonly retryAfter: string | null,
  ) {
    super(`${url} responded ${body}`);
    this.code = /"code":"([A-Z_]+)"/.exec(body)?.[1] ?? 'none';
  }
}

/** Posts JSON and parses the JSON response. Rejects if there is none, with `Refused` if it has errors. */
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
  const payload = (await response.json()) as T & { errors?: unknown; error?: unknown };
  if (payload.errors ?? payload.error) {
    throw new Refused(url, response.status, JSON.stringify(payload), response.headers.get('retry-after'));
  }
  return payload;
}
