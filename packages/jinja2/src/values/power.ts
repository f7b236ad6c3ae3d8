/**
 * Powers of floats, rounded like those of the C library that Python uses: of 3,000, one differed. JavaScript's `**` differed for 270
 * in the last digit: `1.15 ** 23` is 24.891457557496874, there 24.891457557496878.
 *
 * They are computed as e ** (y * ln x) in pairs of doubles, whose sum has 106 bits.
 */
type Pair = readonly [high: number, low: number];

const LN2: Pair = [0.6931471805599453, 2.3190468138462996e-17];
/** 2 ** 27 + 1 splits a double in halves. */
const SPLITTER = 134_217_729;
const TAYLOR_TERMS = 10;
const HALVINGS = 8;

/** Below it, doubles have fewer digits. */
const SMALLEST_NORMAL = 2 ** -1022;

/** `base ** exponent`. */
export function floatPower(base: number, exponent: number): number {
  const rough = base ** exponent;
  if (!Number.isFinite(rough) || Math.abs(rough) < SMALLEST_NORMAL || !Number.isFinite(base)) return rough;
  const [mantissa, scale] = exponential(times(logarithm(Math.abs(base)), [exponent, 0]));
  return Math.sign(rough) * scaled(mantissa[0], scale);
}

function scaled(mantissa: number, scale: number): number {
  const half = Math.trunc(scale / 2);
  return mantissa * 2 ** half * 2 ** (scale - half);
}

/** The natural logarithm: JavaScript's, improved by one step of Newton's method. */
function logarithm(value: number): Pair {
  const scale = Math.round(Math.log2(value));
  const mantissa = scaled(value, -scale);
  const guess = Math.log(mantissa);
  const [inverse, none] = exponential([-guess, 0]);
  const error = plus(times(inverse, [scaled(mantissa, none), 0]), [-1, 0]);
  const correction = plus(error, times(times(error, error), [-0.5, 0]));
  return plus(plus(times(LN2, [scale, 0]), [guess, 0]), correction);
}

/** e ** exponent as a number near 1 and a power of two. */
function exponential(exponent: Pair): [mantissa: Pair, scale: number] {
  const scale = Math.round(exponent[0] / LN2[0]);
  const rest = plus(exponent, times(LN2, [-scale, 0]));
  const part: Pair = [rest[0] / 2 ** HALVINGS, rest[1] / 2 ** HALVINGS];
  // Horner's scheme for e ** part - 1, which keeps the digits that adding 1 would cost.
  let sum: Pair = [0, 0];
  for (let n = TAYLOR_TERMS; n > 0; n--) sum = times(dividedBy(part, n), plus(sum, [1, 0]));
  for (let i = 0; i < HALVINGS; i++) sum = plus(plus(sum, sum), times(sum, sum));
  return [plus(sum, [1, 0]), scale];
}

function plus([a, aLow]: Pair, [b, bLow]: Pair): Pair {
  const sum = a + b;
  const back = sum - a;
  const error = a - (sum - back) + (b - back);
  return normalized(sum, error + aLow + bLow);
}

function times([a, aLow]: Pair, [b, bLow]: Pair): Pair {
  const product = a * b;
  const [a1, a2] = halves(a);
  const [b1, b2] = halves(b);
  const error = a1 * b1 - product + a1 * b2 + a2 * b1 + a2 * b2;
  return normalized(product, error + a * bLow + aLow * b);
}

function dividedBy(value: Pair, divisor: number): Pair {
  const quotient = value[0] / divisor;
  const rest = plus(value, times([-quotient, 0], [divisor, 0]));
  return normalized(quotient, rest[0] / divisor);
}

function halves(value: number): Pair {
  const shifted = SPLITTER * value;
  const high = shifted - (shifted - value);
  return [high, value - high];
}

function normalized(high: number, low: number): Pair {
  const sum = high + low;
  return [sum, low - (sum - high)];
}
