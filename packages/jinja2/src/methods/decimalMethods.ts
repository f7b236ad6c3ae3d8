import { limitFault, renderFault } from '../errors.js';
import { method, methodTable, namedMethod, type MethodTable } from '../values/callable.js';
import { compareDecimals, Decimal, MAX_DIGITS } from '../values/decimal.js';
import { contextual, quantized, rescaled } from '../values/decimalArithmetic.js';
import { asDecimal, decimalToInt } from '../values/decimalOperators.js';
import { ROUNDINGS, type Rounding } from '../values/rounding.js';
import { isText, textOf, Tuple, typeName, type Value } from '../values/value.js';
import { fraction } from './numberMethods.js';

function narrow(value: Value): Decimal {
  if (!(value instanceof Decimal)) throw renderFault('a Decimal is required');
  return value;
}

function decimalArgument(value: Value): Decimal {
  const decimal = asDecimal(value);
  if (decimal === undefined)
    throw renderFault(`conversion from ${typeName(value)} to Decimal is not supported`);
  return decimal;
}

function roundingArgument(value: Value): Rounding {
  const name = isText(value) ? textOf(value) : '';
  const known = value === null ? 'ROUND_HALF_EVEN' : ROUNDINGS.find((rounding) => rounding === name);
  if (known === undefined) throw renderFault(`valid values for rounding are: ${ROUNDINGS.join(', ')}`);
  return known;
}

const toIntegral = namedMethod<Decimal>(['rounding'], (value, _, rounding = null) =>
  value.exponent >= 0 ? value : rescaled(value, 0, roundingArgument(rounding)),
);

/** Drops trailing zeros. */
function normalized(value: Decimal): Decimal {
  const result = contextual(value);
  if (result.isZero) return new Decimal(result.isNegative, 0n, 0);
  const digits = result.digitText;
  const kept = digits.replace(/0+$/, '');
  return new Decimal(result.isNegative, BigInt(kept), result.exponent + digits.length - kept.length);
}

function withSign(value: Decimal, isNegative: boolean): Decimal {
  return new Decimal(isNegative, value.coefficient, value.exponent);
}

function chosen(sign: 1 | -1) {
  return method<Decimal>(
    (value, _, other = null) => {
      const candidate = decimalArgument(other);
      return contextual(compareDecimals(value, candidate) * sign >= 0 ? value : candidate);
    },
    1,
    1,
  );
}

const yes = method<Decimal>(() => true);
const no = method<Decimal>(() => false);

/** Methods of Python's Decimal that inspect or round a number. */
export const DECIMAL_METHODS: MethodTable = methodTable(narrow, {
  quantize: namedMethod(
    ['exp', 'rounding'],
    (value, _, exponent = null, rounding = null) =>
      quantized(value, decimalArgument(exponent).exponent, roundingArgument(rounding)),
    1,
  ),
  to_integral_value: toIntegral,
  to_integral: toIntegral,
  to_integral_exact: toIntegral,
  normalize: method(normalized),
  conjugate: method((value) => value),
  copy_abs: method((value) => withSign(value, false)),
  copy_negate: method((value) => withSign(value, !value.isNegative)),
  copy_sign: method((value, _, other = null) => withSign(value, decimalArgument(other).isNegative), 1, 1),
  compare: method(
    (value, _, other = null) => Decimal.of(Math.sign(compareDecimals(value, decimalArgument(other)))),
    1,
    1,
  ),
  max: chosen(1),
  min: chosen(-1),
  adjusted: method((value) => value.adjusted),
  as_integer_ratio: method((value) => {
    const exponent = Math.min(0, value.exponent);
    if (-exponent > MAX_DIGITS) throw limitFault(`an integer of more than ${MAX_DIGITS} digits`);
    const scale = 10n ** BigInt(-exponent);
    return fraction(decimalToInt(withExponent(value, value.exponent - exponent)), scale);
  }),
  as_tuple: method((value, { budget }) => {
    budget.allocate(value.length);
    const digits = Array.from(value.digitText, Number);
    return new Tuple([value.isNegative ? 1 : 0, new Tuple(digits), value.exponent]);
  }),
  is_finite: yes,
  is_infinite: no,
  is_nan: no,
  is_qnan: no,
  is_snan: no,
  is_canonical: yes,
  is_signed: method((value) => value.isNegative),
  is_zero: method((value) => value.isZero),
});

function withExponent(value: Decimal, exponent: number): Decimal {
  return new Decimal(value.isNegative, value.coefficient, exponent);
}
