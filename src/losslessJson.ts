import { readJson, type JsonValues } from './jsonReader.js';

/** A JSON number that JavaScript's would write differently: too long, out of range, or with zeros that say something. */
export class ExactNumber {
  /** Enumerable under a name that no GraphQL field can have: where an object is wanted, it is refused as one with an unknown field. */
  readonly '(number)': string;

  /** @param text as the JSON has it */
  constructor(text: string) {
    this['(number)'] = text;
  }

  get text(): string {
    return this['(number)'];
  }

  toString(): string {
    return this.text;
  }

  /** As text, so that no digit is lost where JSON is written without `writeJson`. It is also what messages of graphql-js quote. */
  toJSON(): string {
    return this.text;
  }
}

/**
 * What may be a number that a double does not hold as it is written: 16 digits or more, zeros at the end of a fraction,
 * an exponent, a negative zero. Strings may match as well, which costs only the slower reader.
 */
const MAY_BE_CHANGED =
  /(?:^|[:,[\s])-?(?:(?<=-)0|\d[\d.]{15,}|\d+\.\d*0|\d+(?:\.\d+)?[eE][+-]?\d+)(?=[\s,\]}]|$)/;

/** @param literal of a number, in JSON or in GraphQL */
export function toJsonNumber(literal: string): number | ExactNumber {
  const value = Number(literal);
  // Beyond it, a number in JavaScript's hands may be a neighbour of the one that was meant.
  const isSafe = Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isSafe && String(value) === literal ? value : new ExactNumber(literal);
}

const EXACT: JsonValues = {
  number: toJsonNumber,
  // As own properties, also `__proto__`.
  object: (members) => Object.fromEntries(members),
};

/** JSON.parse, except that a number which a double would change is an ExactNumber. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return MAY_BE_CHANGED.test(text) ? readJson(text, EXACT) : (JSON.parse(text) as unknown);
}

/** JSON.stringify, except that an ExactNumber is written as the number it is. */
export function writeJson(value: unknown): string {
  return (holdsExactNumber(value) ? write(value) : JSON.stringify(value)) ?? 'null';
}

/** A value of a JSON object: no list, no number that is kept as its text. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

function holdsExactNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof ExactNumber) return true;
  return (Array.isArray(value) ? value : Object.values(value)).some(holdsExactNumber);
}

/** Undefined for what JSON.stringify leaves out. */
function write(value: unknown): string | undefined {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  if (typeof value !== 'object' || value === null || 'toJSON' in value) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).flatMap(([name, item]) => {
    const text = write(item);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** Digits that BigInt is made of: converting takes time that grows with their square. */
const MAX_DIGITS = 1_000;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/** The integer that a decimal number is, however it is written (`1e3`, `1.0`); undefined when it is none, or far too long. */
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
