import { ownValue } from '../../../foundation/ownValue.js';
/**
 * How a text literal is sent for a type. Each form returns the text for PostgreSQL, or undefined if PostgreSQL would reject
 * it, so that the error has the literal's position. Forms that only PostgreSQL can check (intervals, dates in words) are
 * passed through; if it rejects one (SQLSTATE class 22), the error has no position.
 */
export type LiteralForm = (text: string) => string | undefined;

const INT8_LIMIT = 9_223_372_036_854_775_808n;

/** A 64-bit integer. */
export const wholeNumber: LiteralForm = (text) => {
  const digits = text.trim();
  if (!/^[+-]?\d{1,30}$/.test(digits)) return undefined;
  const value = BigInt(digits.replace(/^\+/, ''));
  return value >= -INT8_LIMIT && value < INT8_LIMIT ? value.toString() : undefined;
};

const NOT_FINITE = /^\s*(?:nan|[+-]?inf(?:inity)?)\s*$/i;

export const decimal: LiteralForm = (text) => {
  if (NOT_FINITE.test(text)) return text.trim();
  const match = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,4}))?)\s*$/i.exec(text);
  return match?.[1] && text.length <= 1_000 && Math.abs(Number(match[2] ?? 0)) <= 1_000
    ? match[1]
    : undefined;
};

/** A number in the type's range: rounding must not make it infinite or, unless it is zero, zero. Infinity is in it. */
const float =
  (round: (value: number) => number): LiteralForm =>
  (text) => {
    const exact = decimal(text);
    if (exact === undefined || NOT_FINITE.test(exact)) return exact;
    const value = round(Number(exact));
    const isZero = !/^[^e]*[1-9]/i.test(exact);
    return Number.isFinite(value) && (value !== 0 || isZero) ? exact : undefined;
  };

export const float8 = float(Number);
export const float4 = float(Math.fround);

const BOOLEANS: Readonly<Record<string, string>> = {
  true: 'true',
  t: 'true',
  yes: 'true',
  '1': 'true',
  false: 'false',
  f: 'false',
  no: 'false',
  '0': 'false',
};

export const boolean: LiteralForm = (text) => ownValue(BOOLEANS, text.trim().toLowerCase());

export const uuid: LiteralForm = (text) => {
  const digits = text
    .trim()
    .replace(/^\{(.*)\}$/, '$1')
    .replaceAll('-', '');
  return /^[\da-f]{32}$/i.test(digits) ? digits : undefined;
};

const MOMENT_WORDS = new Set(['now', 'today', 'tomorrow', 'yesterday', 'epoch', 'infinity', '-infinity']);
const ISO_MOMENT =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d*)?)?\s*(?:Z|[+-](\d{1,2})(?::?(\d{2}))?)?)?$/i;

/** A date or a timestamp: ISO 8601 is checked down to the day, other forms are left to PostgreSQL. */
export const moment: LiteralForm = (text) => {
  const trimmed = text.trim();
  if (MOMENT_WORDS.has(trimmed.toLowerCase())) return trimmed;
  const match = ISO_MOMENT.exec(trimmed);
  if (!match) return /\d/.test(trimmed) && !/^\d{1,5}$/.test(trimmed) ? trimmed : undefined;
  const numbers = match.slice(1).map((part: string | undefined) => Number(part ?? 0));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] =
    numbers;
  const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const dayExists = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth;
  const timeExists =
    minute < 60 && second <= 60 && (hour < 24 || (hour === 24 && minute === 0 && second === 0));
  return dayExists && timeExists && zoneHour < 16 && zoneMinute < 60 ? trimmed : undefined;
};

/** A time of day, in any form with a digit. */
export const time: LiteralForm = (text) => (/\d/.test(text) ? text : undefined);

/** Any form that has a digit and is not a date, or infinity, which PostgreSQL has from version 17 on. */
export const interval: LiteralForm = (text) =>
  /\d|^\s*[+-]?infinity\s*$/i.test(text) && !ISO_MOMENT.test(text.trim()) ? text : undefined;

export const json: LiteralForm = (text) => {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
};

/** Base64, as bytea columns are shown; PostgreSQL gets its hexadecimal form. */
export const bytes: LiteralForm = (text) => {
  const compact = text.replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) return undefined;
  return `\\x${Buffer.from(compact, 'base64').toString('hex')}`;
};

/** A LIKE pattern: PostgreSQL rejects one that ends in the middle of an escape. The lookbehind avoids quadratic time for runs of backslashes. */
export const pattern: LiteralForm = (text) =>
  (/(?<!\\)\\*$/.exec(text)?.[0].length ?? 0) % 2 === 0 ? text : undefined;
