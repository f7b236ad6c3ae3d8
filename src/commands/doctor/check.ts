import { AppError, UsageError } from '../../foundation/errors.js';
import { withTimeout } from '../../foundation/withTimeout.js';

/** A check's result, in one line. Contains no secrets, no URLs with passwords, no tenant data. */
export interface Finding {
  readonly ok: boolean;
  readonly says: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** By name, in the order of their report. */
export type Checks = Readonly<Record<string, () => Promise<Finding>>>;

const CHECK_TIMEOUT_MS = 20_000;

/** Runs a check; never rejects. */
export async function examine(check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await withTimeout(check(), CHECK_TIMEOUT_MS, () =>
      bad(`no response within ${CHECK_TIMEOUT_MS / 1000} s`),
    );
  } catch (error) {
    return broken(error);
  }
}

const MAX_LISTED = 3;

export function shortened(items: readonly string[]): string {
  return `${items.slice(0, MAX_LISTED).join(', ')}${items.length > MAX_LISTED ? ', …' : ''}`;
}

export const good = (says: string): Finding => ({ ok: true, says });

export const bad = (says: string, hint?: string): Finding => ({
  ok: false,
  says,
  ...(hint === undefined ? {} : { hint }),
});

/** Library messages may contain addresses and values: for errors that aren't ours, only the code is shown. */
function broken(error: unknown): Finding {
  if (error instanceof AppError) return bad(error.message, error.hint);
  if (error instanceof UsageError) return bad(error.message);
  return bad(`it failed (${codeOf(error)})`);
}

/** A code such as `ECONNREFUSED` or `42P01`, or the error's name if it has none. */
export function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return error instanceof Error ? error.name : 'unknown error';
}
