import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { parseDatabaseUrl } from './databaseUrl.js';
import { parseRedisUrl } from './redisAddress.js';
import { parseStorageUrl } from './storageUrl.js';

/*
 * Parsers for settings. Each throws an Error whose message follows the variable's name ("PORT is not a whole number …")
 * and never quotes the value, which may be a secret.
 */

export const text = (value: string): string => value;
export const optionalText = (value: string): string | undefined => value;
export const flag = (value: string): boolean => {
  if (/^(1|true|yes|on)$/i.test(value)) return true;
  if (/^(0|false|no|off)$/i.test(value)) return false;
  throw new Error('is not a yes or no');
};
export const listeningAddress = (value: string): string => {
  if (isIP(value) !== 0) return value;
  throw new Error('is not an IP address of this machine, such as 127.0.0.1 or ::');
};
const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
export const origins = (value: string): readonly string[] => {
  const items = list(value);
  for (const item of items) {
    const parsed = URL.canParse(item) ? new URL(item) : undefined;
    if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.origin !== item.replace(/\/$/, '')) {
      throw new Error('is not a list of origins such as https://app.example.com');
    }
  }
  return items;
};
/** Not `null`, the origin of every sandboxed frame. */
export const originsOrAll = (value: string): readonly string[] => {
  const items = list(value);
  const named = origins(items.filter((item) => item !== '*').join(',')).map((item) => new URL(item).origin);
  return items.includes('*') ? [...named, '*'] : named;
};
export const integer =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new Error(`is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
export const oneOf =
  <T extends string>(...choices: T[]) =>
  (value: string): T => {
    const choice = choices.find((c) => c === value);
    if (choice === undefined) throw new Error(`is not one of ${choices.join(', ')}`);
    return choice;
  };
export const url =
  (...schemes: string[]) =>
  (value: string): string => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (!parsed || !schemes.includes(parsed.protocol.slice(0, -1))) {
      throw new Error(`is not a ${schemes.join(' or ')} URL`);
    }
    return value;
  };
export const storageAddress = (value: string): string => {
  parseStorageUrl(value);
  return value;
};
export const cellName = (value: string): string => {
  if (/^[A-Za-z][\w-]{0,62}$/.test(value)) return value;
  throw new Error('is not a letter followed by letters, digits, - and _');
};
export const databaseAddress = (value: string): string => {
  const { searchParams } = new URL(parseDatabaseUrl(value).url);
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = searchParams.get(name);
    if (file !== null && !isReadable(file)) throw new Error(`has ${name}=<file>, and the file can't be read`);
  }
  return value;
};
function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
export const databaseAddresses = (value: string): readonly string[] => {
  const addresses = list(value);
  for (const address of addresses) {
    if (!/^postgres(ql)?:/.test(address)) throw new Error('has a part that is not a URL: each has one host');
    databaseAddress(address);
  }
  return addresses;
};
export const redisAddress = (value: string): string => {
  parseRedisUrl(value);
  return value;
};
export const mediaTypes = (value: string): readonly string[] => {
  const items = list(value).map((item) => item.toLowerCase());
  if (items.length > 0 && items.every((item) => /^[\w.+-]+\/([\w.+-]+|\*)$|^\*\/\*$/.test(item)))
    return items;
  throw new Error('is not a list of types such as image/*,application/pdf');
};
export const optional =
  <T>(parse: (value: string) => T) =>
  (value: string): T | undefined =>
    parse(value);
