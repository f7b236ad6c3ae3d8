import { createHash } from 'node:crypto';
import { countSignIns, uncountSignIns } from '../../db/roles/signIn/signInCounts.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { AppError, rateLimited } from '../../foundation/errors.js';
import type { ControlContext, ControlEngineDeps, ControlOptions } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import type { MutationInput } from '../request/mutationInputs.js';
import { inLine } from '../request/passwordHashes.js';
import { verifyPassword } from './passwords.js';

/** How long after a sign-in a role may change how it signs in. */
const RECENT_MS = 600_000;
/** Clocks of web processes may differ by this much. */
const CLOCK_TOLERANCE_MS = 30_000;
/** Wrong values of current_password. */
const MAX_GUESSES = 10;
const GUESS_WINDOW_SECONDS = 900;

/**
 * Whether the caller has just shown who it is: it signed in with a password or at a provider within ten minutes, or its
 * mutations contain its current password. Throws AppError REAUTHENTICATION_REQUIRED if that is wrong, RATE_LIMITED.
 */
export async function isReauthenticated(
  { database: { pool }, clock }: Pick<ControlEngineDeps, 'database' | 'clock'>,
  principal: Principal,
  { authTimeMs = 0 }: ControlOptions,
  inputs: readonly MutationInput[],
): Promise<boolean> {
  const passwords = new Set(inputs.flatMap(({ input: { current_password: given } }) => given ?? []));
  const [password] = passwords;
  const agoMs = clock.now() - authTimeMs;
  const isRecent = agoMs > -CLOCK_TOLERANCE_MS && agoMs < RECENT_MS;
  if (typeof password !== 'string' || isAnonymous(principal)) return isRecent;
  if (passwords.size > 1) throw badInput('current_password', 'Give the same current_password everywhere.');
  const { tenantid, roleid } = principal;
  const key = createHash('sha256').update(`current password ${tenantid} ${roleid}`).digest();
  const [guesses] = await countSignIns(pool, [{ key, windowSeconds: GUESS_WINDOW_SECONDS }]);
  if (guesses && guesses.count > MAX_GUESSES) {
    // A thief's guesses don't keep the owner, who has signed in anew, from changing the password: that needs none.
    if (isRecent) return true;
    throw rateLimited('Too many wrong values of current_password.', guesses.msLeft);
  }
  const { rows } = await pool.query<{ password_hash: string | null }>(
    'select password_hash from rowpost.role where tenantid = $1 and roleid = $2',
    [tenantid, roleid],
  );
  if (!(await inLine(() => verifyPassword(password, rows[0]?.password_hash ?? null)))) {
    throw new AppError('REAUTHENTICATION_REQUIRED', 'current_password is not the password of the role.');
  }
  await uncountSignIns(pool, [key]);
  return true;
}

/** Whoever has got hold of a token must not turn it into a password or an identity. Throws AppError REAUTHENTICATION_REQUIRED. */
export function requireReauthenticated({ isReauthenticated: isSure }: ControlContext, what: string): void {
  if (isSure) return;
  throw new AppError(
    'REAUTHENTICATION_REQUIRED',
    `The sign-in is too long ago for a role to change its ${what}.`,
  );
}
