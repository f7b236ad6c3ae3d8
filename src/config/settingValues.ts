import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { parseDatabaseUrl } from './databaseUrl.js';
import { parseRedisUrl } from './redisAddress.js';
import { parseStorageUrl } from './storageUrl.js';
import { parseWebAddress } from './webAddress.js';

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
  if (isIP(value) === 4) return value;
  // In the spelling of systems, `::1`. One with a zone is no URL.
  const url = `http://[${value}]`;
  if (isIP(value) === 6) return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : value;
  throw new Error('is not an IP address of this machine, such as 127.0.0.1 or ::');
};
const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
export const origin = (value: string): string => {
  const address = parseWebAddress(value);
  if (address?.path === '') return address.origin;
  throw new Error('is not an http or https URL without a path, such as https://app.example.com');
};
const originInList = (item: string): string => {
  const address = parseWebAddress(item);
  if (address?.path === '') return address.origin;
  throw new Error('is not a list of origins such as https://app.example.com');
};
const origins = (value: string): readonly string[] => [...new Set(list(value).map(originInList))];
/** An origin whose pages a service trusts: for one tenant, or for all. */
export interface TenantOrigin {
  readonly origin: string;
  readonly tenantid?: number;
}
/** Such as `https://ours.example.com,12=https://theirs.example.com`. */
export const tenantOrigins = (value: string): readonly TenantOrigin[] => {
  const found = list(value).map((item) => {
    const [, tenantid, named = item] = /^(\d{1,9})\s*=(.*)$/s.exec(item) ?? [];
    return `${tenantid === undefined ? '' : Number(tenantid)}=${originInList(named)}`;
  });
  return [...new Set(found)].map((each) => {
    const [tenantid = '', origin = ''] = each.split('=');
    return tenantid === '' ? { origin } : { origin, tenantid: Number(tenantid) };
  });
};
/** Not `null`, the origin of every sandboxed frame. */
export const originsOrAll = (value: string): readonly string[] => {
  const items = list(value);
  const named = origins(items.filter((item) => item !== '*').join(','));
  return items.includes('*') ? [...named, '*'] : named;
};
/** The largest `integer` of PostgreSQL, and the longest timer of Node.js, which fires a longer one at once. */
const MAX_INTEGER = 2_147_483_647;
export const integer =
  (least: number, most = MAX_INTEGER) =>
  (value: string): number => {
    const number = /^\s*\d+\s*$/.test(value) ? Number(value) : NaN;
    if (!(number >= least && number <= most)) {
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
export const webAddress = (value: string): string => {
  const address = parseWebAddress(value);
  if (address) return address.origin + address.path;
  throw new Error('is not an http or https URL without user, query and fragment');
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
