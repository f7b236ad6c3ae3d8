import { Semaphore } from 'async-mutex';
import { hashPassword } from '../roles/passwords.js';
import { AppError } from '../../foundation/errors.js';
import { passwordWeakness } from '../../foundation/passwordRules.js';
import { ownValue } from '../../foundation/ownValue.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { holds, isInstallationAdmin } from '../permissions.js';
import type { MutationInput } from './mutationInputs.js';

/** Precomputed hashes of the passwords that a request sets. */
export interface PasswordHashes {
  /** A hash of one of the request's passwords, a different one for each occurrence. */
  take(password: string): Promise<string>;
}

/** Each takes 0.1 s of CPU and 32 MiB. */
const MAX_PASSWORDS = 10;
/** Of a role that may set none but its own. */
const MAX_OWN_PASSWORDS = 1;
/** Concurrent hashes for control requests per process; the other threads are for sign-ins. */
const MAX_AT_ONCE = 2;
/** Mutations that set a password, and its input field. */
const SETTERS: ReadonlyMap<string, string> = new Map([
  ['create_role', 'password'],
  ['update_role', 'password'],
  ['create_tenant', 'root_password'],
]);

const slots = new Semaphore(MAX_AT_ONCE);

/** Hashes a password, or compares it with a hash, when a thread is free for control requests. */
export function inLine<T>(hash: () => Promise<T>): Promise<T> {
  return slots.runExclusive(hash);
}

/** Whether a document's mutations give a password, to be set or as the current one: hashing it takes a while. */
export function givePassword(inputs: readonly MutationInput[]): boolean {
  return inputs.some((each) => passwordOf(each) !== undefined || each.input['current_password'] != null);
}

/**
 * Hashes all passwords that a document's mutations set before their transaction begins, so that hashing holds no row lock
 * and no connection. Passwords that the caller is certain not to set are not hashed. Throws AppError DOCUMENT_TOO_COMPLEX.
 */
export async function hashPasswords(
  principal: Principal,
  inputs: readonly MutationInput[],
): Promise<PasswordHashes> {
  const passwords = inputs
    .filter(({ mutation }) => maySet(principal, mutation))
    .flatMap((each) => passwordOf(each) ?? []);
  const most = ['create_role', 'update_role'].some((capability) => holds(principal, capability))
    ? MAX_PASSWORDS
    : MAX_OWN_PASSWORDS;
  if (passwords.length > most) {
    throw new AppError(
      'DOCUMENT_TOO_COMPLEX',
      `The document sets more than ${most} ${most === 1 ? 'password' : 'passwords'}; send the others in another request.`,
    );
  }
  const hashes = new Map<string, string[]>();
  for (const password of passwords) {
    const hash = await inLine(() => hashPassword(password));
    hashes.set(password, [...(hashes.get(password) ?? []), hash]);
  }
  return {
    // The caller may have got the right to set it since.
    take: async (password) => hashes.get(password)?.shift() ?? (await inLine(() => hashPassword(password))),
  };
}

/** Whether the mutation may come to set a password, for all that is known without reading roles. */
function maySet(principal: Principal, mutation: string): boolean {
  if (mutation === 'create_role') return holds(principal, 'create_role');
  if (mutation === 'create_tenant') return isInstallationAdmin(principal);
  return !isAnonymous(principal);
}

function passwordOf({ mutation, input }: MutationInput): string | undefined {
  const password = ownValue(input, SETTERS.get(mutation) ?? '');
  if (typeof password !== 'string' || password === '') return undefined;
  // Weak passwords are rejected later and need not be hashed.
  return passwordWeakness(password) === undefined ? password : undefined;
}
