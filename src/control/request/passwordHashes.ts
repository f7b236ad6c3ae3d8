import { Semaphore } from 'async-mutex';
import { hashPassword } from '../roles/passwords.js';
import { AppError } from '../../foundation/errors.js';
import { passwordWeakness } from '../../foundation/passwordRules.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { MutationInput } from './mutationInputs.js';

/** Precomputed hashes of the passwords that a request sets. */
export interface PasswordHashes {
  /** Returns a hash of one of the request's passwords, a different one for each occurrence. */
  take(password: string): string;
}

/** Each takes 0.1 s of CPU and 32 MiB. */
const MAX_PASSWORDS = 10;
/** Concurrent hashes for control requests per process; the other threads are for sign-ins. */
const MAX_AT_ONCE = 2;
/** Mutations that set a password, and its input field. */
const SETTERS: ReadonlyMap<string, string> = new Map([
  ['create_role', 'password'],
  ['update_role', 'password'],
  ['create_tenant', 'root_password'],
]);

const slots = new Semaphore(MAX_AT_ONCE);

/**
 * Hashes all passwords that a document's mutations set before their transaction begins, so that hashing holds no row lock
 * and no connection. Throws AppError DOCUMENT_TOO_COMPLEX.
 */
export async function hashPasswords(inputs: readonly MutationInput[]): Promise<PasswordHashes> {
  const passwords = inputs.flatMap((each) => passwordOf(each) ?? []);
  if (passwords.length > MAX_PASSWORDS) {
    throw new AppError(
      'DOCUMENT_TOO_COMPLEX',
      `The document sets more than ${MAX_PASSWORDS} passwords; send the others in another request.`,
    );
  }
  const hashes = new Map<string, string[]>();
  for (const password of passwords) {
    const hash = await slots.runExclusive(() => hashPassword(password));
    hashes.set(password, [...(hashes.get(password) ?? []), hash]);
  }
  return {
    take(password) {
      const hash = hashes.get(password)?.shift();
      if (hash === undefined) throw new Error('a password was not hashed before its transaction');
      return hash;
    },
  };
}

function passwordOf({ mutation, input }: MutationInput): string | undefined {
  const password = ownValue(input, SETTERS.get(mutation) ?? '');
  if (typeof password !== 'string' || password === '') return undefined;
  // Weak passwords are rejected later and need not be hashed.
  return passwordWeakness(password) === undefined ? password : undefined;
}
