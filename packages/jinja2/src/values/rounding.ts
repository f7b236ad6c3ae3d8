/** The rounding modes of Python's Decimal, except ROUND_05UP, which template authors don't need. */
export const ROUNDINGS = [
  'ROUND_HALF_EVEN',
  'ROUND_HALF_UP',
  'ROUND_HALF_DOWN',
  'ROUND_UP',
  'ROUND_DOWN',
  'ROUND_CEILING',
  'ROUND_FLOOR',
] as const;

export type Rounding = (typeof ROUNDINGS)[number];

/** The rounded quotient of two magnitudes; `isNegative` is the sign of the result. */
export function divideRounded(x: bigint, y: bigint, isNegative: boolean, rounding: Rounding): bigint {
  const quotient = x / y;
  const remainder = x % y;
  return remainder !== 0n && roundsUp(quotient, remainder * 2n - y, isNegative, rounding)
    ? quotient + 1n
    : quotient;
}

/** @param overHalf negative, zero or positive: the remainder is below, at or above half */
function roundsUp(quotient: bigint, overHalf: bigint, isNegative: boolean, rounding: Rounding): boolean {
  switch (rounding) {
    case 'ROUND_HALF_EVEN':
      return overHalf > 0n || (overHalf === 0n && quotient % 2n === 1n);
    case 'ROUND_HALF_UP':
      return overHalf >= 0n;
    case 'ROUND_HALF_DOWN':
      return overHalf > 0n;
    case 'ROUND_UP':
      return true;
    case 'ROUND_DOWN':
      return false;
    case 'ROUND_CEILING':
      return !isNegative;
    case 'ROUND_FLOOR':
      return isNegative;
  }
}
