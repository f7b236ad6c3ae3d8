import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** By default long enough for the busiest machine: less only where the time is what is tested. */
  readonly timeoutMs?: number;
  /** At first. */
  readonly intervalMs?: number;
}

/** Who has waited long asks less often: a question takes CPU time from what is waited for. */
const SHARE_OF_WAIT = 1 / 50;
const MAX_INTERVAL_MS = 50;

/**
 * Asks until the response is truthy and returns it. A probe that throws is asked again.
 * @param what completes "timed out waiting for …"
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  { timeoutMs = 60_000, intervalMs = 10 }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const startedAt = Date.now();
  const deadline = startedAt + timeoutMs;
  for (;;) {
    const response = await ask(probe);
    if (response.value) return response.value;
    if (Date.now() >= deadline) {
      throw new Error(
        `timed out after ${timeoutMs} ms waiting for ${what}; last response: ${describe(response)}`,
        {
          cause: response.error,
        },
      );
    }
    const rare = Math.min((Date.now() - startedAt) * SHARE_OF_WAIT, MAX_INTERVAL_MS);
    await delay(Math.max(intervalMs, rare));
  }
}

interface Response<T> {
  readonly value?: T;
  readonly error?: unknown;
}

async function ask<T>(probe: () => T | Promise<T>): Promise<Response<T>> {
  try {
    return { value: await probe() };
  } catch (error) {
    return { error };
  }
}

function describe(response: Response<unknown>): string {
  if (response.error !== undefined)
    return response.error instanceof Error ? response.error.message : 'an error';
  return response.value === undefined ? 'undefined' : JSON.stringify(response.value);
}
