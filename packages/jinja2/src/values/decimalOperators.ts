import { ownValue } from '../ownValue.js';
import type { Budget } from '../limits.js';
import { limitFault } from '../errors.js';
import { compareDecimals, Decimal, MAX_DIGITS } from './decimal.js';
import {
  addDecimals,
  divideDecimals,
  floorDivideDecimals,
  isWhole,
  moduloDecimals,
  multiplyDecimals,
  powDecimals,
  rescaled,
  subtractDecimals,
} from './decimalArithmetic.js';
import { asInteger, asNumber, floatText, fromBigInt, powFloats } from './numbers.js';
import type { Rounding } from './rounding.js';
import { isFloat, type Value } from './value.js';

/** Maximum digits of a Decimal that is hashed as the integer it equals. */
const MAX_HASHED_DIGITS = 400;

type DecimalOperation = (x: Decimal, y: Decimal) => Decimal;

const OPERATIONS: Readonly<Record<string, DecimalOperation>> = {
  '+': addDecimals,
  '-': subtractDecimals,
  '*': multiplyDecimals,
  '/': divideDecimals,
  '//': floorDivideDecimals,
  '%': moduloDecimals,
};

/**
 * Arithmetic where one operand is a Decimal; undefined if the other is not a number. Python rejects a float with a Decimal;
 * here the float counts with the digits it prints, which is what `price * 1.21` means.
 */
export function decimalArithmetic(operator: string, a: Value, b: Value, budget: Budget): Value | undefined {
  const [x, y] = [asDecimal(a), asDecimal(b)];
  if (x === undefined || y === undefined) return undefined;
  budget.work(x.length + y.length);
  if (operator === '**') return powDecimals(x, y) ?? powFloats(x.toNumber(), y.toNumber());
  return ownValue(OPERATIONS, operator)?.(x, y);
}

/** A number as a Decimal, a float with the digits it prints; undefined for infinities, NaN and other types. */
export function asDecimal(value: Value): Decimal | undefined {
  if (value instanceof Decimal) return value;
  const integer = asInteger(value);
  if (integer !== undefined) return Decimal.of(integer);
  const number = isFloat(value) ? (asNumber(value) ?? NaN) : NaN;
  return Number.isFinite(number) ? Decimal.parse(floatText(number).replace(/\.0$/, '')) : undefined;
}

/** The exact sign of a - b, also with floats; NaN if one is NaN, undefined if one is not a number. */
export function compareExactly(a: Value, b: Value, budget: Budget): number | undefined {
  const [x, y] = [exactly(a), exactly(b)];
  if (x === undefined || y === undefined) return undefined;
  // At most one is a number: an infinity or NaN, on one side of every Decimal.
  if (typeof x === 'number') return x;
  if (typeof y === 'number') return -y;
  budget.work(x.length + y.length);
  return compareDecimals(x, y);
}

function exactly(value: Value): Decimal | number | undefined {
  if (value instanceof Decimal) return value;
  const integer = asInteger(value);
  if (integer !== undefined) return Decimal.of(integer);
  if (!isFloat(value)) return undefined;
  const number = asNumber(value) ?? NaN;
  return Number.isFinite(number) ? Decimal.ofExact(number) : number;
}

/** The hash key: the int or float that it equals, otherwise its digits without trailing zeros. */
export function decimalHash(value: Decimal): number | bigint | string {
  if (value.adjusted < MAX_HASHED_DIGITS && isWhole(value)) return decimalToInt(value);
  const number = value.toNumber();
  if (Number.isFinite(number) && compareDecimals(Decimal.ofExact(number), value) === 0) return number;
  // Only the first zero of a run is a beginning, so that long runs take no time.
  const digits = value.digitText.replace(/(?<!0)0+$/, '');
  return `\0d${value.isNegative ? '-' : ''}${digits}e${value.exponent + value.length - digits.length}`;
}

/** Python's `int(value)`, or with another rounding. @throws Fault if it is too large for an int of the engine */
export function decimalToInt(value: Decimal, rounding: Rounding = 'ROUND_DOWN'): number | bigint {
  if (value.adjusted >= MAX_DIGITS) throw limitFault(`an integer of more than ${MAX_DIGITS} digits`);
  const { isNegative, coefficient } = rescaled(value, 0, rounding);
  return fromBigInt(isNegative ? -coefficient : coefficient);
}
