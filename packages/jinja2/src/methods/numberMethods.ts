import { renderFault } from '../errors.js';
import { method, methodTable, type MethodTable } from '../values/callable.js';
import { asInteger, asNumber, fromBigInt } from '../values/numbers.js';
import { Decimal } from '../values/decimal.js';
import { isFloat, Tuple, type Value } from '../values/value.js';
import { floatHex } from '../format/floatHex.js';

function narrowInteger(value: Value): number | bigint {
  const integer = asInteger(value);
  if (integer === undefined) throw renderFault('an int is required');
  return integer;
}

function narrowFloat(value: Value): Value {
  if (!isFloat(value)) throw renderFault('a float is required');
  return value;
}

function magnitude(value: number | bigint): bigint {
  return BigInt(value < 0 ? -value : value);
}

/** A fraction in lowest terms, for `as_integer_ratio`. */
export function fraction(numerator: number | bigint, denominator: bigint): Tuple {
  let [a, b] = [magnitude(numerator), denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  return new Tuple([fromBigInt(BigInt(numerator) / a), fromBigInt(denominator / a)]);
}

/** Methods of int and its subclass bool. */
export const INT_METHODS: MethodTable = methodTable(narrowInteger, {
  bit_length: method((value) => (value === 0 ? 0 : magnitude(value).toString(2).length)),
  bit_count: method((value) => magnitude(value).toString(2).replaceAll('0', '').length),
  as_integer_ratio: method((value) => new Tuple([value, 1])),
  conjugate: method((value) => value),
});

/** Methods of float. */
export const FLOAT_METHODS: MethodTable = methodTable<Value>(narrowFloat, {
  is_integer: method((value) => Number.isInteger(asNumber(value))),
  as_integer_ratio: method((value) => {
    const number = asNumber(value) ?? NaN;
    if (Number.isNaN(number)) throw renderFault('cannot convert NaN to integer ratio');
    if (!Number.isFinite(number)) throw renderFault('cannot convert Infinity to integer ratio');
    const { isNegative, coefficient, exponent } = Decimal.ofExact(number);
    return fraction(isNegative ? -coefficient : coefficient, 10n ** BigInt(-exponent));
  }),
  conjugate: method((value) => value),
  hex: method((value) => floatHex(asNumber(value) ?? NaN)),
});
