import { readJson, type JsonValues } from 'rowpost-jinja2/jsonReader';

/** A JSON number that JavaScript would print differently: too long, out of range, or with significant zeros. */
export class ExactNumber {
  /** Enumerable, with a name that no GraphQL field can have: where an object is expected, it fails as an unknown field. */
  readonly '(number)': string;

  /** @param text as written in the JSON */
  constructor(text: string) {
    this['(number)'] = text;
  }

  get text(): string {
    return this['(number)'];
  }

  toString(): string {
    return this.text;
  }

  /** A string, so that no digit is lost if `writeJson` isn't used. Also quoted in messages of graphql-js. */
  toJSON(): string {
    return this.text;
  }
}

/**
 * Matches anything that may be a number a double can't reproduce as written: 16 digits or more, trailing zeros of a
 * fraction, a fraction below a millionth, an exponent, a negative zero. A match inside a string only costs the slower reader.
 */
const MAY_BE_CHANGED =
  /(?:^|[:,[\s])-?(?:(?<=-)0|\d[\d.]{15,}|\d+\.\d*0|0\.0{6}\d+|\d+(?:\.\d+)?[eE][+-]?\d+)(?=[\s,\]}]|$)/;

/** @param literal of a number, in JSON or in GraphQL */
export function toJsonNumber(literal: string): number | ExactNumber {
  const value = Number(literal);
  // Beyond this, a double may be an approximation of the literal.
  const isSafe = Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isSafe && String(value) === literal ? value : new ExactNumber(literal);
}

const EXACT: JsonValues = {
  number: toJsonNumber,
  // As own properties, also `__proto__`.
  object: (members) => Object.fromEntries(members),
};

/** JSON.parse, except that a number that a double would change becomes an ExactNumber. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return MAY_BE_CHANGED.test(text) ? readJson(text, EXACT) : (JSON.parse(text) as unknown);
}

/** JSON.stringify, except that an ExactNumber is written with its exact digits. */
export function writeJson(value: unknown): string {
  return (holdsExactNumber(value) ? write(value) : JSON.stringify(value)) ?? 'null';
}

/** A JSON object: neither a list nor an ExactNumber. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** @returns undefined for text that is not a JSON object */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A text as it is, any other value as JSON. */
export function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : writeJson(value);
}

function holdsExactNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ExactNumber) return true;
  return (Array.isArray(value) ? value : Object.values(value)).some(holdsExactNumber);
}

/** Undefined for values that JSON.stringify omits. */
function write(value: unknown): string | undefined {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  if (typeof value !== 'object' || value === null || hasOwnForm(value)) return JSON.stringify(value);
  const members = Object.entries(value).flatMap(([name, item]) => {
    const text = write(item);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** Whether JSON.stringify calls the value's toJSON. A mere member of that name is data. */
function hasOwnForm(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Limits the digits passed to BigInt, whose conversion takes quadratic time. */
const MAX_DIGITS = 1_000;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/** The integer value of a decimal literal in any notation (`1e3`, `1.0`); undefined if it is not an integer, or too long. */
export function exactInteger(text: string): bigint | undefined {
  const match = text.length <= MAX_DIGITS ? DECIMAL.exec(text) : null;
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (digits === '' || point > MAX_DIGITS) return undefined;
  if (/[1-9]/.test(digits.slice(Math.max(point, 0)))) return undefined;
  const integer = BigInt(point <= 0 ? 0 : digits.slice(0, point).padEnd(point, '0'));
  return sign === '-' ? -integer : integer;
}
