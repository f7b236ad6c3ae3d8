import { limitFault, renderFault, type Fault } from '../errors.js';
import { Decimal, scaled } from './decimal.js';
import { divideRounded, type Rounding } from './rounding.js';

/** Python's default context: 28 digits, half to even; overflow and invalid operations raise. */
const PRECISION = 28;
const MAX_EXPONENT = 999_999;
const MIN_EXPONENT = -MAX_EXPONENT;
/** Maximum exponent of a power; a larger one would overflow anyway. */
const MAX_POWER = 999_999_999;

/** Rounds a result to the context's precision. @throws Fault on overflow */
function rounded(isNegative: boolean, coefficient: bigint, exponent: number, precision = PRECISION): Decimal {
  const lowest = MIN_EXPONENT - precision + 1;
  const exact = new Decimal(isNegative, coefficient, exponent);
  if (exact.isZero) {
    return new Decimal(isNegative, 0n, Math.min(MAX_EXPONENT, Math.max(lowest, exponent)));
  }
  const least = Math.max(exact.adjusted - precision + 1, lowest);
  let result = exact;
  if (exponent < least) {
    result = rescaled(exact, least);
    // A carry (9.99… to 10.00…) adds a digit.
    if (result.length > precision) result = rescaled(result, least + 1);
  }
  if (result.adjusted > MAX_EXPONENT) throw renderFault('the number is too large for Decimal arithmetic');
  return result;
}

/** Rounds to the context's precision, like Python's unary plus. */
export function contextual(value: Decimal): Decimal {
  return rounded(value.isNegative, value.coefficient, value.exponent);
}

/** Rescales to another exponent; the caller bounds the zeros that this adds. */
export function rescaled(value: Decimal, exponent: number, rounding: Rounding = 'ROUND_HALF_EVEN'): Decimal {
  const { isNegative, coefficient, length } = value;
  if (value.isZero) return new Decimal(isNegative, 0n, exponent);
  if (exponent <= value.exponent) return new Decimal(isNegative, scaled(value, exponent), exponent);
  // Digits further below the last one only matter as a sticky digit.
  const dropped = exponent - value.exponent;
  const quotient =
    dropped > length + 1
      ? divideRounded(1n, 100n, isNegative, rounding)
      : divideRounded(coefficient, 10n ** BigInt(dropped), isNegative, rounding);
  return new Decimal(isNegative, quotient, exponent);
}

/** Rounds to a maximum of digits: further ones would be padding zeros. */
export function significant(value: Decimal, count: number): Decimal {
  return value.length <= count ? value : withDigits(value, count);
}

/** Rounds, or extends by zeros, to a number of digits; the caller bounds the zeros that this adds. */
export function withDigits(value: Decimal, count: number): Decimal {
  const result = rescaled(value, value.exponent + value.length - count);
  return result.length > count ? rescaled(result, result.exponent + 1) : result;
}

/** Python's `a.quantize(...)` to this exponent. @throws Fault if that takes more digits than the context's precision */
export function quantized(value: Decimal, exponent: number, rounding?: Rounding): Decimal {
  if (exponent > MAX_EXPONENT || exponent < MIN_EXPONENT - PRECISION + 1) throw invalid('quantize');
  if (!value.isZero && value.adjusted - exponent + 1 > PRECISION) throw invalid('quantize');
  const result = rescaled(value, exponent, rounding);
  if (result.length > PRECISION || result.adjusted > MAX_EXPONENT) throw invalid('quantize');
  return result;
}

function invalid(operation: string): Fault {
  return renderFault(`${operation}: the result has more than ${PRECISION} digits (decimal.InvalidOperation)`);
}

export function negated(value: Decimal): Decimal {
  return rounded(!value.isNegative && !value.isZero, value.coefficient, value.exponent);
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent);
  if (a.isZero && b.isZero) return rounded(a.isNegative && b.isNegative, 0n, exponent);
  if (a.isZero) return added(b, exponent);
  if (b.isZero) return added(a, exponent);
  const [x, y] = aligned(a, b);
  const sum = signed(x) + signed(y);
  return rounded(sum < 0n, sum < 0n ? -sum : sum, x.exponent);
}

/** A number plus a zero of this exponent. */
function added(value: Decimal, exponent: number): Decimal {
  const least = Math.max(exponent, value.adjusted - PRECISION);
  return contextual(least < value.exponent ? rescaled(value, least) : value);
}

export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  return addDecimals(a, new Decimal(!b.isNegative, b.coefficient, b.exponent));
}

/** Aligns both to one exponent. An operand too small to change the other's digits becomes a sticky digit, not a long run of zeros. */
function aligned(a: Decimal, b: Decimal): [Decimal, Decimal] {
  const isFirstHigh = a.exponent >= b.exponent;
  const [high, low] = isFirstHigh ? [a, b] : [b, a];
  const least = high.exponent + Math.min(-1, high.length - PRECISION - 2);
  const reduced = low.adjusted < least ? new Decimal(low.isNegative, 1n, least) : low;
  const scaledHigh = new Decimal(high.isNegative, scaled(high, reduced.exponent), reduced.exponent);
  return isFirstHigh ? [scaledHigh, reduced] : [reduced, scaledHigh];
}

function signed(value: Decimal): bigint {
  return value.isNegative ? -value.coefficient : value.coefficient;
}

export function multiplyDecimals(a: Decimal, b: Decimal, precision = PRECISION): Decimal {
  return rounded(
    a.isNegative !== b.isNegative,
    a.coefficient * b.coefficient,
    a.exponent + b.exponent,
    precision,
  );
}

export function divideDecimals(a: Decimal, b: Decimal, precision = PRECISION): Decimal {
  if (b.isZero) throw renderFault('division by zero');
  const isNegative = a.isNegative !== b.isNegative;
  const ideal = a.exponent - b.exponent;
  if (a.isZero) return rounded(isNegative, 0n, ideal, precision);
  const shift = b.length - a.length + precision + 1;
  const dividend = shift >= 0 ? a.coefficient * 10n ** BigInt(shift) : a.coefficient;
  const divisor = shift >= 0 ? b.coefficient : b.coefficient * 10n ** BigInt(-shift);
  let quotient = dividend / divisor;
  let exponent = ideal - shift;
  if (quotient * divisor !== dividend) {
    // A sticky digit for the remainder, so that it isn't rounded as a tie.
    if (quotient % 5n === 0n) quotient += 1n;
  } else {
    while (exponent < ideal && quotient % 10n === 0n) {
      quotient /= 10n;
      exponent++;
    }
  }
  return rounded(isNegative, quotient, exponent, precision);
}

/** `a // b` and `a % b`: toward zero, unlike those of ints. */
function quotientAndRemainder(a: Decimal, b: Decimal): [Decimal, Decimal] {
  const isNegative = a.isNegative !== b.isNegative;
  const exponent = Math.min(a.exponent, b.exponent);
  const distance = a.adjusted - b.adjusted;
  if (a.isZero || distance <= -2) return [new Decimal(isNegative, 0n, 0), rescaled(a, exponent)];
  if (distance > PRECISION) throw invalid('division');
  const [x, y] = [scaled(a, exponent), scaled(b, exponent)];
  const quotient = new Decimal(isNegative, x / y, 0);
  if (quotient.length > PRECISION) throw invalid('division');
  return [quotient, new Decimal(a.isNegative, x % y, exponent)];
}

export function floorDivideDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.isZero) throw renderFault('division by zero');
  return quotientAndRemainder(a, b)[0];
}

export function moduloDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.isZero) throw renderFault('decimal modulo by zero');
  return contextual(quotientAndRemainder(a, b)[1]);
}

/** A power with an integer exponent, computed as libmpdec does; undefined for other exponents. */
export function powDecimals(base: Decimal, exponent: Decimal): Decimal | undefined {
  if (!isWhole(exponent)) return undefined;
  if (exponent.adjusted > 9) throw powerTooLarge();
  const power = Number(exponent.text);
  if (Math.abs(power) > MAX_POWER) throw powerTooLarge();
  if (base.isZero) return powerOfZero(base, power);
  if (power === 0) return Decimal.of(1);
  const precision = PRECISION + String(Math.abs(power)).length + 2 + (power < 0 ? 1 : 0);
  const factor = power < 0 ? divideDecimals(Decimal.of(1), base, precision) : base;
  let result = factor;
  for (const bit of Math.abs(power).toString(2).slice(1)) {
    result = multiplyDecimals(result, result, precision);
    if (bit === '1') result = multiplyDecimals(result, factor, precision);
  }
  return contextual(result);
}

function powerTooLarge(): Fault {
  return limitFault(`a power with an exponent beyond ${MAX_POWER}`);
}

function powerOfZero(base: Decimal, power: number): Decimal {
  if (power <= 0) throw renderFault('0 cannot be raised to zero or a negative power as a Decimal');
  return new Decimal(base.isNegative && power % 2 !== 0, 0n, 0);
}

export function isWhole(value: Decimal): boolean {
  if (value.exponent >= 0 || value.isZero) return true;
  if (-value.exponent >= value.length) return false;
  return value.coefficient % 10n ** BigInt(-value.exponent) === 0n;
}
