import { floatText } from '../values/numbers.js';

/** Digits of a double's 52 bits after the point. */
const HEX_DIGITS = 13;
const LOWEST_EXPONENT = -1022;

/** Python's `float.hex()`: `0x1.8000000000000p+1`. */
export function floatHex(value: number): string {
  if (!Number.isFinite(value)) return floatText(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const magnitude = Math.abs(value);
  if (magnitude === 0) return `${sign}0x0.0p+0`;
  let exponent = Math.max(LOWEST_EXPONENT, Math.floor(Math.log2(magnitude)));
  // The logarithm of a number just below a power of two is rounded up.
  if (magnitude / 2 ** exponent < 1 && exponent > LOWEST_EXPONENT) exponent--;
  const mantissa = magnitude / 2 ** exponent;
  const digits = BigInt((mantissa % 1) * 2 ** 52)
    .toString(16)
    .padStart(HEX_DIGITS, '0');
  return `${sign}0x${Math.trunc(mantissa)}.${digits}p${exponent < 0 ? '' : '+'}${exponent}`;
}
