import type { Column } from '../../db/catalog/catalog.js';

/** Exponents beyond this are out of range for every numeric. */
const MAX_EXPONENT = 200_000;
const INFINITE = /^\s*[+-]?inf(?:inity)?\s*$/i;
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;

/**
 * The limit of a type with bounds, such as varchar(n) or numeric(p, s), that the value exceeds; PostgreSQL's error names no
 * column. Undefined if it fits, and for other types, whose values are checked before they are sent.
 */
export function outOfBounds({ type }: Pick<Column, 'type'>, value: unknown): string | undefined {
  const { bounds } = type;
  if (!bounds || value === null || value === undefined) return undefined;
  if (Array.isArray(value)) {
    for (const item of value) {
      const reason = outOfBounds({ type }, item);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const { length, precision, scale = 0, bits, maxBits } = bounds;
  if (bits !== undefined && (bitsIn(text) ?? bits) !== bits) return `exactly ${bits} bits`;
  if (maxBits !== undefined && (bitsIn(text) ?? 0) > maxBits) return `at most ${maxBits} bits`;
  // PostgreSQL truncates excess trailing spaces. The lookbehind avoids quadratic time for runs of spaces.
  if (length !== undefined && Array.from(text.replace(/(?<! ) +$/, '')).length > length)
    return `at most ${length} characters`;
  if (precision !== undefined && INFINITE.test(text)) return 'finite numbers only';
  if (precision !== undefined && !fitsNumeric(text, precision, scale))
    return `at most ${Math.max(0, precision - scale)} digits before the point`;
  return undefined;
}

/** The length of a bit string, which may be hexadecimal; undefined for other texts. */
function bitsIn(text: string): number | undefined {
  const binary = /^b?([01]*)$/i.exec(text)?.[1];
  if (binary !== undefined) return binary.length;
  const hex = /^x([0-9a-f]*)$/i.exec(text)?.[1];
  return hex === undefined ? undefined : hex.length * 4;
}

/** Rounds to `scale` decimals as PostgreSQL does, half away from zero. */
function fitsNumeric(text: string, precision: number, scale: number): boolean {
  const match = NUMBER.exec(text.trim());
  if (!match) return true;
  const [, , whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return true;
  // The number is 0.<digits> × 10^point.
  const point = digits.length - fraction.length + Number(exponent);
  if (Math.abs(point) > MAX_EXPONENT) return point < 0;
  const kept = point + scale;
  if (kept !== precision) return kept < precision;
  // Too long also if rounding carries through all digits.
  return !(
    /^9+$/.test(digits.slice(0, precision).padEnd(precision, '0')) && (digits[precision] ?? '0') >= '5'
  );
}
