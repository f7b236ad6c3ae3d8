import { Decimal } from '../values/decimal.js';
import { rescaled, significant } from '../values/decimalArithmetic.js';

/**
 * Decimal digits of doubles, rounded half to even on the exact binary value as C and Python do.
 * (JavaScript's toFixed rounds exact ties up.)
 */

/** `'%.{precision}f'` of a finite number's magnitude and sign. */
export function fixed(value: number, precision: number): string {
  if (precision <= 100 && Math.abs(value) < 1e21 && !isTie(value, precision)) {
    const text = value.toFixed(precision);
    return Object.is(value, -0) || (value < 0 && !text.startsWith('-')) ? `-${text.replace('-', '')}` : text;
  }
  const exact = Decimal.ofExact(Math.abs(value));
  const places = Math.min(precision, -exact.exponent);
  const digits = rescaled(exact, -places).digitText.padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  return sign + (precision === 0 ? whole : `${whole}.${digits.slice(whole.length).padEnd(precision, '0')}`);
}

/** An exact tie at that precision is a multiple of 2^-(precision+1), which scaling by a power of two reveals. */
function isTie(value: number, precision: number): boolean {
  return !Number.isInteger(value) && Number.isInteger(value * 2 ** (precision + 1));
}

/** The magnitude of a finite number as `count` significant digits and a decimal exponent. */
function scientific(value: number, count: number): { readonly digits: string; readonly exponent: number } {
  if (value === 0) return { digits: '0'.repeat(count), exponent: 0 };
  const rounded = significant(Decimal.ofExact(Math.abs(value)), count);
  return { digits: rounded.digitText.padEnd(count, '0'), exponent: rounded.adjusted };
}

/** `'%.{precision}e'` of a magnitude. */
export function exponent(value: number, precision: number, alternate = false): string {
  const { digits, exponent: power } = scientific(value, precision + 1);
  const point = precision > 0 || alternate ? '.' : '';
  return `${digits.charAt(0)}${point}${digits.slice(1)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** `'%.{precision}g'` of a magnitude; `keepPoint` is Python's default float format, which keeps one decimal. */
export function general(value: number, precision: number, alternate = false, keepPoint = false): string {
  const count = Math.max(1, precision);
  const { digits, exponent: power } = scientific(value, count);
  if (power < -4 || power >= count - (keepPoint ? 1 : 0)) {
    const fraction = alternate ? digits.slice(1) : digits.slice(1).replace(/(?<!0)0+$/, '');
    const exponentText = `e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
    return `${digits.charAt(0)}${fraction === '' && !alternate ? '' : '.'}${fraction}${exponentText}`;
  }
  const whole = power < 0 ? '0' : digits.slice(0, power + 1);
  const rest = power < 0 ? '0'.repeat(-power - 1) + digits : digits.slice(power + 1);
  const fraction = alternate ? rest : rest.replace(/(?<!0)0+$/, '');
  if (fraction === '') return alternate ? `${whole}.` : keepPoint ? `${whole}.0` : whole;
  return `${whole}.${fraction}`;
}
