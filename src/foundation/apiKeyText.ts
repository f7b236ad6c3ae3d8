import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The role that a key is of, and what is stored of it. */
export interface ApiKeyText {
  readonly tenantid: number;
  readonly roleid: number;
  /** SHA-256 of the whole key, in hexadecimal. A key has 190 random bits, so it needs no slow hash. */
  readonly hash: string;
}

/** What API keys begin with, and no token does: scanners for leaked secrets find `rowpost_\d+_\d+_[0-9A-Za-z]{38}`. */
export const API_KEY_PREFIX = 'rowpost_';
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_DIGITS = 32;
/** 62^6 is more than 2^32. */
const CHECKSUM_DIGITS = 6;
const FORMAT = /^(rowpost_([0-9]{1,9})_([0-9]{1,9})_[0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export function makeApiKey(tenantid: number, roleid: number): string {
  const random = Array.from({ length: RANDOM_DIGITS }, () => DIGITS[randomInt(DIGITS.length)]).join('');
  const body = `${API_KEY_PREFIX}${tenantid}_${roleid}_${random}`;
  return body + checksumOf(body);
}

/** @returns undefined for what no key can be: a typing error, or half of one, is found without a look at any table */
export function readApiKey(text: string): ApiKeyText | undefined {
  const [, body = '', tenantid, roleid, checksum] = FORMAT.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(body)) return undefined;
  return {
    tenantid: Number(tenantid),
    roleid: Number(roleid),
    hash: createHash('sha256').update(text).digest('hex'),
  };
}

/** CRC-32, as digits. */
function checksumOf(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let n = 0; n < CHECKSUM_DIGITS; n++) {
    digits = (DIGITS[rest % DIGITS.length] ?? '') + digits;
    rest = Math.floor(rest / DIGITS.length);
  }
  return digits;
}
