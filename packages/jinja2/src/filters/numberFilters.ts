import { renderFault } from '../errors.js';
import { fixed } from '../format/decimal.js';
import type { Evaluation } from '../values/callable.js';
import { Decimal } from '../values/decimal.js';
import { contextual, negated, quantized } from '../values/decimalArithmetic.js';
import { decimalToInt } from '../values/decimalOperators.js';
import {
  asInteger,
  asNumber,
  floatText,
  floorDivideInts,
  fromBigInt,
  multiplyInts,
  parseFloatText,
  parseInteger,
  subtractInts,
} from '../values/numbers.js';
import { BINARY_OPERATORS, negate } from '../values/operators.js';
import { isTrue } from '../values/truth.js';
import { isText, textOf, toFloat, typeName, Undefined } from '../values/value.js';
import type { Value } from '../values/value.js';
import { filter, filterTable, indexArgument, textArgument } from './filter.js';

/** Python's `float(value)` as a JavaScript number, or undefined where Python raises TypeError or ValueError. */
function floatOf(value: Value): number | undefined {
  if (value instanceof Undefined) throw value.fault();
  if (value instanceof Decimal) return value.toNumber();
  return isText(value) ? parseFloatText(textOf(value)) : asNumber(value);
}

/** A number without its fraction; undefined for NaN. @throws Fault for infinity, as Python raises OverflowError. */
function truncated(number: number): Value | undefined {
  if (Number.isNaN(number)) return undefined;
  if (!Number.isFinite(number)) throw renderFault('cannot convert float infinity to integer');
  return fromBigInt(BigInt(Math.trunc(number)));
}

function toInt(input: Value, fallback: Value, base: number): Value {
  if (isText(input)) {
    const integer = parseInteger(textOf(input), base);
    if (integer !== undefined) return integer;
    const number = parseFloatText(textOf(input));
    return number === undefined || !Number.isFinite(number) ? fallback : (truncated(number) ?? fallback);
  }
  if (input instanceof Decimal) return decimalToInt(input);
  const integer = asInteger(input);
  if (integer !== undefined) return integer;
  const number = floatOf(input);
  return (number === undefined ? undefined : truncated(number)) ?? fallback;
}

/** Python's `round(value, precision)`: half to even, on the exact decimal value. */
function roundCommon(value: Value, precision: number): Value {
  const integer = asInteger(value);
  if (integer !== undefined) return precision >= 0 ? integer : roundInteger(integer, -precision);
  if (value instanceof Decimal) return quantized(value, -precision);
  const number = asNumber(value);
  if (number === undefined) throw renderFault(`type ${typeName(value)} doesn't define __round__ method`);
  if (!Number.isFinite(number) || precision > 340) return toFloat(number);
  if (precision >= 0) return toFloat(Number(fixed(number, precision)));
  if (precision < -310) return toFloat(number * 0);
  // Doubled, an integer can carry the fraction, which decides whether half of the unit is a tie.
  const fraction = BigInt(Math.sign(number - Math.trunc(number)));
  const doubled = roundToMultiple(2n * BigInt(Math.trunc(number)) + fraction, 2n * 10n ** BigInt(-precision));
  const rounded = asNumber(fromBigInt(doubled / 2n)) ?? 0;
  return toFloat(rounded === 0 ? number * 0 : rounded);
}

/** An integer to a multiple of 10 ** digits, half to even. */
function roundInteger(value: number | bigint, digits: number): number | bigint {
  return digits > 5_000 ? 0 : fromBigInt(roundToMultiple(BigInt(value), 10n ** BigInt(digits)));
}

/** An integer to a multiple of the unit, half to even. */
function roundToMultiple(value: bigint, unit: bigint): bigint {
  const quotient = BigInt(asInteger(floorDivideInts(value, unit)) ?? 0);
  const twice = 2n * (value - quotient * unit);
  const up = twice > unit || (twice === unit && quotient % 2n !== 0n);
  return (up ? quotient + 1n : quotient) * unit;
}

function roundBy(
  value: Value,
  precision: number,
  direction: 'ceil' | 'floor',
  { budget }: Evaluation,
): Value {
  const factor = BINARY_OPERATORS['**'](10, precision, budget);
  const product = BINARY_OPERATORS['*'](value, factor, budget);
  if (asInteger(product) !== undefined) return BINARY_OPERATORS['/'](product, factor, budget);
  const scaled = asNumber(product);
  if (product instanceof Decimal) {
    const whole = decimalToInt(product, direction === 'ceil' ? 'ROUND_CEILING' : 'ROUND_FLOOR');
    return BINARY_OPERATORS['/'](whole, factor, budget);
  }
  if (scaled === undefined) throw renderFault(`must be real number, not ${typeName(value)}`);
  const rounded = truncated(direction === 'ceil' ? Math.ceil(scaled) : Math.floor(scaled));
  if (rounded === undefined) throw renderFault('cannot convert float NaN to integer');
  return BINARY_OPERATORS['/'](rounded, factor, budget);
}

const DECIMAL_UNITS = ['kB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB', 'YB'];
const BINARY_UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB'];

function fileSize(bytes: number, binary: boolean): string {
  const base = binary ? 1024 : 1000;
  if (bytes === 1) return '1 Byte';
  if (bytes === -Infinity) throw renderFault('cannot convert float infinity to integer');
  if (bytes < base) return `${BigInt(Math.trunc(bytes))} Bytes`;
  const units = binary ? BINARY_UNITS : DECIMAL_UNITS;
  // Compared exactly: 1e24 is less than 10 ** 24.
  const steps = units.findIndex((_, i) => bytes < BigInt(base) ** BigInt(i + 2));
  const at = steps < 0 ? units.length - 1 : steps;
  // The product of a finite number may be infinite, as in Python.
  const size = (base * bytes) / base ** (at + 2);
  return `${Number.isFinite(size) ? fixed(size, 1) : floatText(size)} ${units[at] ?? ''}`;
}

/** Filters on numbers. */
export const NUMBER_FILTERS = filterTable({
  abs: filter([], (input) => {
    const integer = asInteger(input);
    if (integer !== undefined) return integer < 0 ? subtractInts(0, integer) : multiplyInts(integer, 1);
    if (input instanceof Decimal) return input.isNegative ? negated(input) : contextual(input);
    const number = asNumber(input);
    if (number === undefined) throw renderFault(`bad operand type for abs(): '${typeName(input)}'`);
    return number < 0 || Object.is(number, -0) ? negate(input) : input;
  }),
  // Python ignores a base that is not an integer.
  int: filter(['default', 'base'], (input, _, fallback = 0, base = 10) =>
    toInt(input, fallback, Number(asInteger(base) ?? -1)),
  ),
  float: filter(['default'], (input, _, fallback = toFloat(0)) => {
    const number = floatOf(input);
    return number === undefined ? fallback : toFloat(number);
  }),
  round: filter(['precision', 'method'], (input, evaluation, precision = 0, method = 'common') => {
    if (input instanceof Undefined) throw input.fault();
    switch (textArgument(method, 'method')) {
      case 'common':
        if (precision !== null) return roundCommon(input, indexArgument(precision));
        return input instanceof Decimal
          ? decimalToInt(input, 'ROUND_HALF_EVEN')
          : toInt(roundCommon(input, 0), 0, 10);
      case 'ceil':
        return roundBy(input, indexArgument(precision), 'ceil', evaluation);
      case 'floor':
        return roundBy(input, indexArgument(precision), 'floor', evaluation);
      default:
        throw renderFault('method must be common, ceil or floor');
    }
  }),
  filesizeformat: filter(['binary'], (input, _, binary = false) => {
    const bytes = floatOf(input);
    if (bytes === undefined) throw renderFault(`filesizeformat needs a number, not ${typeName(input)}`);
    return fileSize(bytes, isTrue(binary));
  }),
});
