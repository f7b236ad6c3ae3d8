import { ownValue } from '../ownValue.js';
import { limitFault, renderFault, type Fault } from '../errors.js';
import { MAX_DIGITS } from './decimal.js';
import { floatPower } from './power.js';
import { Float, toFloat, type Value } from './value.js';
import { strip } from './whitespace.js';

/** Largest integer in bits; Python refuses to print more than 4,300 digits, about this many. */
const MAX_INT_BITS = 14_300;

/** A bigint as a value: a plain number if that is exact. */
export function fromBigInt(value: bigint): number | bigint {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : value;
}

/** The JavaScript number of an int, float or bool; undefined for anything else. */
export function asNumber(value: Value): number | undefined {
  switch (typeof value) {
    case 'number':
      return value;
    case 'boolean':
      return value ? 1 : 0;
    case 'bigint':
      return bigToNumber(value);
    default:
      return value instanceof Float ? value.value : undefined;
  }
}

function bigToNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isFinite(number)) throw renderFault('int too large to convert to float');
  return number;
}

/** The integer of an int or bool; undefined for anything else. */
export function asInteger(value: Value): number | bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  if (typeof value === 'bigint') return value;
  return typeof value === 'boolean' ? Number(value) : undefined;
}

/**
 * An int argument (an index, a width, a count) as a JavaScript number, clamped to ±2^53.
 * @throws Fault as Python does when it isn't an int.
 */
export function indexArgument(value: Value): number {
  const integer = asInteger(value);
  if (integer === undefined) throw renderFault('an integer is required');
  if (typeof integer === 'number') return integer;
  return integer > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
}

/** Integer arithmetic: in doubles while exact, otherwise in BigInts of bounded size. */
export function addInts(a: number | bigint, b: number | bigint): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return bounded(BigInt(a) + BigInt(b));
}

export function subtractInts(a: number | bigint, b: number | bigint): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return bounded(BigInt(a) - BigInt(b));
}

export function multiplyInts(a: number | bigint, b: number | bigint): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product + 0;
  }
  if (bitLength(a) + bitLength(b) > MAX_INT_BITS) throw tooLarge();
  return bounded(BigInt(a) * BigInt(b));
}

/** `a // b`, rounding down. */
export function floorDivideInts(a: number | bigint, b: number | bigint): Value {
  if (b === 0 || b === 0n) throw renderFault('integer division or modulo by zero');
  if (typeof a === 'number' && typeof b === 'number') {
    const remainder = a % b;
    const quotient = (a - remainder) / b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? quotient - 1 : quotient + 0;
  }
  const [x, y] = [BigInt(a), BigInt(b)];
  const quotient = x / y;
  return fromBigInt(x % y !== 0n && x < 0n !== y < 0n ? quotient - 1n : quotient);
}

/** `a % b`, with the sign of b. */
export function moduloInts(a: number | bigint, b: number | bigint): Value {
  if (b === 0 || b === 0n) throw renderFault('integer modulo by zero');
  if (typeof a === 'number' && typeof b === 'number') {
    const remainder = a % b;
    return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder + 0;
  }
  const [x, y] = [BigInt(a), BigInt(b)];
  const remainder = x % y;
  return fromBigInt(remainder !== 0n && remainder < 0n !== y < 0n ? remainder + y : remainder);
}

export function floorDivideFloats(a: number, b: number): Value {
  if (b === 0) throw renderFault('float floor division by zero');
  const remainder = moduloFloats(a, b);
  const quotient = (a - remainder) / b;
  if (quotient === 0) return toFloat((a / b) * 0);
  const floor = Math.floor(quotient);
  return toFloat(quotient - floor > 0.5 ? floor + 1 : floor);
}

/** `a % b` for floats, with the sign of b. */
export function moduloFloats(a: number, b: number): number {
  if (b === 0) throw renderFault('float modulo');
  const remainder = a % b;
  if (remainder !== 0) return remainder < 0 !== b < 0 ? remainder + b : remainder;
  return b < 0 ? -0 : 0;
}

/** `a / b` for integers, correctly rounded if a double can represent them. */
export function divideInts(a: number | bigint, b: number | bigint): Value {
  if (b === 0 || b === 0n) throw renderFault('division by zero');
  if (typeof a === 'number' && typeof b === 'number') return toFloat(a / b);
  return toFloat(divideBig(BigInt(a), BigInt(b)));
}

/** A quotient of big integers, correctly rounded: 64 bits of quotient and a sticky bit fit one conversion. */
function divideBig(a: bigint, b: bigint): number {
  const negative = a < 0n !== b < 0n;
  const x = a < 0n ? -a : a;
  const y = b < 0n ? -b : b;
  const shift = Math.max(0, 66 - (bitLength(x) - bitLength(y)));
  const scaled = x << BigInt(shift);
  const quotient = (scaled / y) | (scaled % y === 0n ? 0n : 1n);
  // In two steps: 2 ** 1024 is no double.
  const step = Math.min(shift, 1_000);
  const result = bigToNumber(quotient) / 2 ** step / 2 ** (shift - step);
  return negative ? -result : result;
}

export function powInts(base: number | bigint, exponent: number | bigint): Value {
  if (exponent < 0) {
    if (base === 0) throw renderFault('0.0 cannot be raised to a negative power');
    return powFloats(Number(base), Number(exponent));
  }
  if (typeof base === 'number' && typeof exponent === 'number') {
    const power = base ** exponent;
    if (Number.isSafeInteger(power)) return power;
  }
  if (bitLength(base) > 1 && bitLength(base) * Number(exponent) > MAX_INT_BITS * 2) throw tooLarge();
  if (base === 1 || base === -1) return base === -1 && BigInt(exponent) % 2n === 1n ? -1 : 1;
  return bounded(BigInt(base) ** BigInt(exponent));
}

export function powFloats(base: number, exponent: number): Value {
  if (base === 0 && exponent < 0) throw renderFault('0.0 cannot be raised to a negative power');
  if (base === 1 || exponent === 0) return new Float(1);
  if (base < 0 && Number.isFinite(base) && Number.isFinite(exponent) && !Number.isInteger(exponent)) {
    throw renderFault('complex numbers are not supported');
  }
  const power = floatPower(base, exponent);
  if (!Number.isFinite(power) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw renderFault('Numerical result out of range');
  }
  return toFloat(power);
}

function bounded(value: bigint): number | bigint {
  if (bitLength(value) > MAX_INT_BITS) throw tooLarge();
  return fromBigInt(value);
}

function tooLarge(): Fault {
  return limitFault(`an integer of more than ${MAX_DIGITS} digits`);
}

function bitLength(value: number | bigint): number {
  if (typeof value === 'number') return value === 0 ? 0 : Math.floor(Math.log2(Math.abs(value))) + 1;
  return (value < 0n ? -value : value).toString(16).length * 4;
}

/** A float as Python prints it: `1e+16`, `1e-05`, `5.0`, `inf`, `nan`. */
export function floatText(value: number): string {
  if (Number.isInteger(value)) {
    if (Math.abs(value) < 1e16) return Object.is(value, -0) ? '-0.0' : `${value}.0`;
    return exponential(value);
  }
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  return Math.abs(value) < 1e-4 ? exponential(value) : String(value);
}

/** Shortest digits in Python's exponent notation, whose exponent has a sign and at least two digits. */
function exponential(value: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential().split('e');
  const digits = exponent.slice(1);
  return `${mantissa}e${exponent.charAt(0)}${digits.padStart(2, '0')}`;
}

const FOREIGN_DIGIT = /(?![0-9])\p{Nd}/gu;
const DIGIT = /\p{Nd}/u;

/** The text with the digits of other scripts, such as Arabic, written as `0` to `9`. */
function asciiDigits(text: string): string {
  return text.replace(FOREIGN_DIGIT, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let first = code;
    // Unicode's digits come in runs of ten, from zero to nine; some runs adjoin.
    while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
    return String((code - first) % 10);
  });
}

const INTEGER_TEXT = /^[+-]?[0-9]+(?:_[0-9]+)*$/;

/**
 * Python's `int(text, base)`; undefined if the text is not an integer in that base.
 * @throws Fault when it has more digits than Python takes.
 */
export function parseInteger(text: string, base = 10): Value | undefined {
  let digits = asciiDigits(strip(text));
  if (base === 10 && INTEGER_TEXT.test(digits)) {
    const plain = digits.replaceAll('_', '');
    if (plain.length <= 15) return Number(plain) + 0;
    if (plain.length > MAX_DIGITS) return undefined;
    return fromBigInt(BigInt(plain.startsWith('+') ? plain.slice(1) : plain));
  }
  const negative = digits.startsWith('-');
  if (negative || digits.startsWith('+')) digits = digits.slice(1);
  digits = digits.toLowerCase();
  const prefix = /^0([xob])_?/.exec(digits);
  const prefixBase = ownValue({ x: 16, o: 8, b: 2 }, prefix?.[1] ?? '');
  if (prefix && prefixBase !== undefined && (base === prefixBase || base === 0)) {
    digits = digits.slice(prefix[0].length);
    base = prefixBase;
  } else if (base === 0) {
    if (/^0[0-9_]*[1-9]/.test(digits)) return undefined;
    base = 10;
  }
  if (base < 2 || base > 36 || !/^[0-9a-z]+(?:_[0-9a-z]+)*$/.test(digits)) return undefined;
  return digitsInBase(digits.replaceAll('_', ''), base, negative);
}

function digitsInBase(digits: string, base: number, negative: boolean): Value | undefined {
  if (digits.length > MAX_DIGITS) return undefined;
  let value = 0n;
  for (const digit of digits) {
    const number = parseInt(digit, 36);
    if (number >= base) return undefined;
    value = value * BigInt(base) + BigInt(number);
  }
  return fromBigInt(negative ? -value : value);
}

// The fraction's digits require the point: otherwise a long number backtracks quadratically.
const FLOAT_TEXT =
  /^[+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)(?:e[+-]?[0-9]+(?:_[0-9]+)*)?$/i;
const NAMED_FLOAT = /^([+-]?)(?:(inf|infinity)|nan)$/i;

/** Python's `float(text)` as a JavaScript number; undefined if the text is not a float. */
export function parseFloatText(text: string): number | undefined {
  const trimmed = asciiDigits(strip(text));
  if (FLOAT_TEXT.test(trimmed)) return Number(trimmed.replaceAll('_', ''));
  const named = NAMED_FLOAT.exec(trimmed);
  if (!named) return undefined;
  if (named[2] === undefined) return NaN;
  return named[1] === '-' ? -Infinity : Infinity;
}
