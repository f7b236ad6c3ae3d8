import type { Column } from '../../db/catalog/catalog.js';

/** Exponents beyond this are out of range for every type. */
const MOST_EXPONENT = 200_000;
const INTEGER_BITS: Readonly<Record<string, bigint>> = { int2: 15n, int4: 31n, int8: 63n };
const MOST_INTEGER_DIGITS = 40;
const NUMBER = /^\s*([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\s*$/;

/**
 * Why PostgreSQL refuses the value for its length or size: its error names no column. Undefined when the column takes it.
 */
export function outOfBounds({ type }: Column, value: unknown): string | undefined {
  if (Array.isArray(value)) {
    for (const item of value) {
      const reason = outOfBounds({ type } as Column, item);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
  if (value === null || value === undefined) return undefined;
  const text = textOf(value);
  const { length, precision, scale = 0 } = type.bounds ?? {};
  if (type.kind === 'text') {
    // Spaces at the end are cut off where they are too many.
    const isLonger = length !== undefined && Array.from(text.replace(/ +$/, '')).length > length;
    return isLonger ? `at most ${length} characters` : undefined;
  }
  const bits = INTEGER_BITS[type.sqlType];
  if (bits !== undefined) {
    const isBeyond =
      /^[+-]?\d+$/.test(text) &&
      (text.length > MOST_INTEGER_DIGITS || BigInt.asIntN(Number(bits) + 1, BigInt(text)) !== BigInt(text));
    return isBeyond ? `from -${2n ** bits} to ${2n ** bits - 1n}` : undefined;
  }
  if (type.kind === 'float')
    return fitsFloat(type.sqlType, text) ? undefined : `a number that ${type.sqlType} can hold`;
  if (type.kind !== 'numeric' || precision === undefined || fitsNumeric(text, precision, scale))
    return undefined;
  return `at most ${Math.max(0, precision - scale)} digits before the point`;
}

/** A number may be an object that keeps its digits. */
function textOf(value: unknown): string {
  // eslint-disable-next-line @typescript-eslint/no-base-to-string -- what has no text of its own is no number either
  return String(value);
}

function fitsFloat(sqlType: string, text: string): boolean {
  if (!NUMBER.test(text)) return true;
  const number = sqlType === 'float4' ? Math.fround(Number(text)) : Number(text);
  return Number.isFinite(number) && (number !== 0 || !/[1-9]/.test(text.replace(/[eE].*/, '')));
}

/** Rounded to `scale` digits after the point, as PostgreSQL does it: half away from zero. */
function fitsNumeric(text: string, precision: number, scale: number): boolean {
  const match = NUMBER.exec(text);
  if (!match) return true;
  const [, , whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return true;
  // The number is 0.<digits> × 10^point.
  const point = digits.length - fraction.length + Number(exponent);
  if (Math.abs(point) > MOST_EXPONENT) return point < 0;
  const kept = point + scale;
  if (kept !== precision) return kept < precision;
  // As many digits as there may be: one more if rounding carries through all of them.
  return !(
    /^9+$/.test(digits.slice(0, precision).padEnd(precision, '0')) && (digits[precision] ?? '0') >= '5'
  );
}
