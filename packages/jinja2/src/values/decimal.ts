import { limitFault } from '../errors.js';
import { PyObject } from './value.js';

/** Maximum digits of an int that Python parses or prints, and of a Decimal in arithmetic; longer Decimals can be printed. */
export const MAX_DIGITS = 4_300;
/** Maximum scale of PostgreSQL's `numeric`; smaller numbers are not written in full. */
const MAX_PLACES = 16_383;

/**
 * Python's `decimal.Decimal`: keeps its digits as written, trailing zeros included. Always finite: raises where
 * Python's context would produce NaN or an infinity.
 */
export class Decimal extends PyObject {
  readonly typeName = 'decimal.Decimal';
  private value: bigint | undefined;
  private digits: string | undefined;
  private written: string | undefined;

  constructor(
    readonly isNegative: boolean,
    /** Never negative; parsed lazily from text, which has no leading zeros. */
    coefficient: bigint | string,
    readonly exponent: number,
  ) {
    super();
    if (typeof coefficient === 'string') this.digits = coefficient;
    else this.value = coefficient;
  }

  /** Parses a JSON number: `-12.50`, `1e-7`. */
  static parse(text: string): Decimal {
    const isNegative = text.startsWith('-');
    const mark = text.search(/e/i);
    const end = mark < 0 ? text.length : mark;
    const point = text.indexOf('.');
    const start = isNegative ? 1 : 0;
    const digits = point < 0 ? text.slice(start, end) : text.slice(start, point) + text.slice(point + 1, end);
    const exponent = mark < 0 ? 0 : Number(text.slice(mark + 1));
    const places = point < 0 ? 0 : end - point - 1;
    return new Decimal(isNegative, withoutZeros(digits), exponent - places);
  }

  static of(integer: number | bigint): Decimal {
    const value = BigInt(integer);
    return new Decimal(value < 0n, value < 0n ? -value : value, 0);
  }

  /** The exact value of a finite double. */
  static ofExact(value: number): Decimal {
    const magnitude = Math.abs(value);
    let exponent = magnitude === 0 ? 0 : Math.max(-1074, Math.floor(Math.log2(magnitude)) - 52);
    let mantissa = magnitude / 2 ** exponent;
    while (!Number.isInteger(mantissa) && exponent > -1074) mantissa = magnitude / 2 ** --exponent;
    const isNegative = value < 0 || Object.is(value, -0);
    if (exponent >= 0) return new Decimal(isNegative, BigInt(mantissa) << BigInt(exponent), 0);
    while (exponent < 0 && mantissa % 2 === 0) {
      mantissa /= 2;
      exponent++;
    }
    return new Decimal(isNegative, BigInt(mantissa) * 5n ** BigInt(-exponent), exponent);
  }

  /** @throws Fault if it has too many digits for arithmetic */
  get coefficient(): bigint {
    if (this.value === undefined) {
      const digits = this.digits ?? '';
      if (digits.length > MAX_DIGITS) throw limitFault(`arithmetic with more than ${MAX_DIGITS} digits`);
      this.value = BigInt(digits);
    }
    return this.value;
  }

  /** The digits of the coefficient. */
  get digitText(): string {
    return (this.digits ??= (this.value ?? 0n).toString());
  }

  /** The number of digits of the coefficient; 1 for zero. */
  get length(): number {
    return this.digitText.length;
  }

  get isZero(): boolean {
    return this.value === undefined ? this.digits === '0' : this.value === 0n;
  }

  /** The exponent of the first digit. */
  get adjusted(): number {
    return this.exponent + this.length - 1;
  }

  /** An upper bound on the length of `text`, known before it is built. */
  get textLength(): number {
    return this.isWrittenInFull ? this.length - this.exponent + 3 : this.length + 10;
  }

  /** Whether `text` has no exponent. */
  get isWrittenInFull(): boolean {
    return this.exponent <= 0 && this.exponent >= -MAX_PLACES;
  }

  /**
   * Python's `str()`, so `1E+2` for a number without a units digit; but small numbers are written in full, such as
   * `0.00000000`, like in the database, instead of `0E-8`.
   */
  get text(): string {
    return (this.written ??= (this.isNegative ? '-' : '') + this.magnitude());
  }

  private magnitude(): string {
    const digits = this.digitText;
    if (this.exponent === 0) return digits;
    if (this.isWrittenInFull) {
      const padded = digits.padStart(1 - this.exponent, '0');
      return `${padded.slice(0, this.exponent)}.${padded.slice(this.exponent)}`;
    }
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${digits.charAt(0)}${fraction}E${this.adjusted < 0 ? '' : '+'}${this.adjusted}`;
  }

  /** As a double, correctly rounded; infinite beyond its range. */
  toNumber(): number {
    return Number(`${this.isNegative ? '-' : ''}${this.digitText}e${this.exponent}`);
  }
}

function withoutZeros(digits: string): string {
  return digits.startsWith('0') ? digits.replace(/^0+(?=\d)/, '') : digits;
}

/** Negative, zero or positive: a - b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.isZero || b.isZero) {
    if (a.isZero) return b.isZero ? 0 : signOf(b) * -1;
    return signOf(a);
  }
  if (a.isNegative !== b.isNegative) return signOf(a);
  if (a.adjusted !== b.adjusted) return a.adjusted > b.adjusted ? signOf(a) : -signOf(a);
  const exponent = Math.min(a.exponent, b.exponent);
  const [x, y] = [scaled(a, exponent), scaled(b, exponent)];
  return x === y ? 0 : x > y ? signOf(a) : -signOf(a);
}

function signOf(value: Decimal): 1 | -1 {
  return value.isNegative ? -1 : 1;
}

/** The coefficient at a lower exponent, which must not be much lower. */
export function scaled(value: Decimal, exponent: number): bigint {
  return value.coefficient * 10n ** BigInt(value.exponent - exponent);
}
