import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/**
 * Asks until the answer is truthy and returns it. A probe that throws is asked again.
 * @param what completes "timed out waiting for …"
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs = 10 }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask(probe);
    if (answer.value) return answer.value;
    if (Date.now() >= deadline) {
      throw new Error(
        `timed out after ${timeoutMs} ms waiting for ${what}; last answer: ${describe(answer)}`,
        {
          cause: answer.error,
        },
      );
    }
    await delay(intervalMs);
  }
}

interface Answer<T> {
  readonly value?: T;
  readonly error?: unknown;
}

async function ask<T>(probe: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await probe() };
  } catch (error) {
    return { error };
  }
}

function describe(answer: Answer<unknown>): string {
  if (answer.error !== undefined) return answer.error instanceof Error ? answer.error.message : 'an error';
  return answer.value === undefined ? 'undefined' : JSON.stringify(answer.value);
}
