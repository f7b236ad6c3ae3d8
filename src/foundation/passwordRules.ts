import { createRequire } from 'node:module';

/** NIST SP 800-63B, 5.1.1.2. */
const MIN_PASSWORD_LENGTH = 8;
/** In UTF-16 units. Longer passwords cost more to hash without being stronger. */
export const MAX_PASSWORD_LENGTH = 1_024;
/** In UTF-16 units; an email address has at most 254. No role has a longer login, so longer ones aren't looked up. */
export const MAX_LOGIN_LENGTH = 1_024;
/** A common word with up to this many characters around it is still common: "Sunshine2024!". */
const MAX_EXTRA_CHARACTERS = 5;

const require = createRequire(import.meta.url);
interface CommonPasswords {
  readonly dictionary: { readonly 'passwords-common': readonly string[] };
}

let common: ReadonlySet<string> | undefined;

/**
 * What is wrong with a new password, as the rest of a sentence; undefined if it is acceptable. Existing passwords stay valid.
 * @param names must not be used as the password: the login, the tenant's name
 */
export function passwordWeakness(
  password: string,
  names: readonly (string | null | undefined)[] = [],
): string | undefined {
  if (password.length > MAX_PASSWORD_LENGTH) return `has more than ${MAX_PASSWORD_LENGTH} characters`;
  const plain = password.normalize('NFKC');
  if (Array.from(plain).length < MIN_PASSWORD_LENGTH)
    return `has fewer than ${MIN_PASSWORD_LENGTH} characters`;
  const words = wordsOf(plain);
  if (names.some((name) => name != null && words.includes(name.normalize('NFKC').toLowerCase())))
    return 'is the login or the name of the tenant';
  if (words.some((word) => word === 'rowpost' || commonPasswords().has(word)) || new Set(plain).size < 3)
    return 'is among the most common passwords';
  return undefined;
}

/** The password, and the word it is based on without a few digits and symbols. */
function wordsOf(password: string): readonly string[] {
  const whole = password.toLowerCase();
  const word = whole.replace(/^[^\p{L}]+|(?<=\p{L})[^\p{L}]+$/gu, '');
  return word !== '' && whole.length - word.length <= MAX_EXTRA_CHARACTERS ? [whole, word] : [whole];
}

/** Loaded lazily: most processes never set a password. */
function commonPasswords(): ReadonlySet<string> {
  if (!common) {
    const { dictionary } = require('@zxcvbn-ts/language-common') as CommonPasswords;
    common = new Set(dictionary['passwords-common'].map((word) => word.toLowerCase()));
  }
  return common;
}
