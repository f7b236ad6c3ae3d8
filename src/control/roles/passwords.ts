import { AppError } from '../../foundation/errors.js';
import { passwordWeakness } from '../../foundation/passwordRules.js';
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';

/** 2^15 × 8 × 128 bytes: 32 MiB and about 0.1 s per guess. Stored in each hash, so that it can be raised later. */
const COST_LOG2 = 15;
const BLOCK_SIZE = 8;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const FORMAT = /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([\w+/=]+)\$([\w+/=]+)$/;

/** Compared against if there is no such login, so that the response takes as long as for a wrong password. */
const DUMMY_HASH = format(COST_LOG2, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));

/** Throws AppError PASSWORD_TOO_WEAK. */
export function requireStrongPassword(password: string, names: readonly (string | null | undefined)[]): void {
  const weakness = passwordWeakness(password, names);
  if (weakness !== undefined) throw new AppError('PASSWORD_TOO_WEAK', `The password ${weakness}.`);
}

/**
 * @param costLog2 for tests that sign in often
 * @returns `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in base64.
 */
export async function hashPassword(password: string, costLog2 = COST_LOG2): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt, KEY_BYTES, costLog2, BLOCK_SIZE, PARALLELISM);
  return format(costLog2, salt, key);
}

/** @param hash as stored; null if there is no such login or it has no password, which takes the same time and returns false */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const parts = FORMAT.exec(hash ?? DUMMY_HASH);
  if (!parts) throw new Error('a stored password hash has an unknown form');
  const [, cost, blockSize, parallelism, salt = '', key = ''] = parts;
  const expected = Buffer.from(key, 'base64');
  const given = await derive(
    password,
    Buffer.from(salt, 'base64'),
    expected.length,
    Number(cost),
    Number(blockSize),
    Number(parallelism),
  );
  return timingSafeEqual(given, expected) && hash !== null;
}

/** Whether a stored hash is one of this service, and no costlier than it makes them: what a guess costs is not its owner's choice. */
export function isPasswordHash(hash: string): boolean {
  const [, cost, blockSize, parallelism, salt = '', key = ''] = FORMAT.exec(hash) ?? [];
  const [saltBytes, keyBytes] = [salt, key].map((text) => Buffer.from(text, 'base64').length);
  return (
    Number(cost) >= 1 &&
    Number(cost) <= COST_LOG2 &&
    Number(blockSize) === BLOCK_SIZE &&
    Number(parallelism) === PARALLELISM &&
    saltBytes === SALT_BYTES &&
    keyBytes === KEY_BYTES
  );
}

function format(costLog2: number, salt: Buffer, key: Buffer): string {
  const [saltText, keyText] = [salt, key].map((bytes) => bytes.toString('base64'));
  return ['scrypt', costLog2, BLOCK_SIZE, PARALLELISM, saltText, keyText].join('$');
}

const scryptAsync = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

function derive(
  password: string,
  salt: Buffer,
  keyBytes: number,
  costLog2: number,
  blockSize: number,
  parallelism: number,
): Promise<Buffer> {
  const cost = 2 ** costLog2;
  // Systems encode the same characters differently.
  return scryptAsync(password.normalize('NFKC'), salt, keyBytes, {
    N: cost,
    r: blockSize,
    p: parallelism,
    maxmem: 2 * 128 * cost * blockSize,
  });
}
