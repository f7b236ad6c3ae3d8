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
 * Asks until the result is truthy and returns it. A probe that throws is asked again.
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
    const result = await ask(probe);
    if (result.value) return result.value;
    if (Date.now() >= deadline) {
      throw new Error(
        `timed out after ${timeoutMs} ms waiting for ${what}; last result: ${describe(result)}`,
        {
          cause: result.error,
        },
      );
    }
    const rare = Math.min((Date.now() - startedAt) * SHARE_OF_WAIT, MAX_INTERVAL_MS);
    await delay(Math.max(intervalMs, rare));
  }
}

interface Result<T> {
  readonly value?: T;
  readonly error?: unknown;
}

async function ask<T>(probe: () => T | Promise<T>): Promise<Result<T>> {
  try {
    return { value: await probe() };
  } catch (error) {
    return { error };
  }
}

function describe(result: Result<unknown>): string {
  if (result.error !== undefined) return result.error instanceof Error ? result.error.message : 'an error';
  return result.value === undefined ? 'undefined' : JSON.stringify(result.value);
}
