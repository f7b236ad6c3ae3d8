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
  const { digits, point } = exactDigits(Math.abs(value));
  const [rounded, carried] = roundDigits(digits, point + precision);
  const at = point + carried;
  const padded = rounded.padStart(precision + Math.max(1, rounded.length - precision), '0');
  const all = at < 1 ? '0'.repeat(Math.max(0, precision + 1 - padded.length)) + padded : padded;
  const whole = all.slice(0, all.length - precision) || '0';
  const fraction = all.slice(all.length - precision);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  return sign + (precision === 0 ? whole : `${whole}.${fraction}`);
}

/** An exact tie at that precision is a multiple of 2^-(precision+1), which scaling by a power of two reveals. */
function isTie(value: number, precision: number): boolean {
  return !Number.isInteger(value) && Number.isInteger(value * 2 ** (precision + 1));
}

/** Significant digits of a finite, positive number, and the position of the decimal point. */
function exactDigits(value: number): { digits: string; point: number } {
  if (value === 0) return { digits: '0', point: 1 };
  let exponent = Math.max(-1074, Math.floor(Math.log2(value)) - 52);
  let mantissa = value / 2 ** exponent;
  while (!Number.isInteger(mantissa) && exponent > -1074) mantissa = value / 2 ** --exponent;
  const integer = BigInt(mantissa);
  if (exponent >= 0) {
    const digits = (integer << BigInt(exponent)).toString();
    return { digits, point: digits.length };
  }
  const digits = (integer * 5n ** BigInt(-exponent)).toString();
  return { digits, point: digits.length + exponent };
}

/** The first `count` digits, rounded half to even; the second item is 1 if a carry added a digit. */
function roundDigits(digits: string, count: number): [digits: string, carried: 0 | 1] {
  if (count < 0) return ['0'.repeat(0), 0];
  if (count >= digits.length) return [digits.padEnd(count, '0'), 0];
  const kept = digits.slice(0, count);
  const next = digits.charCodeAt(count) - 48;
  const beyond = /[1-9]/.test(digits.slice(count + 1));
  const odd = count > 0 && digits.charCodeAt(count - 1) % 2 === 1;
  if (next < 5 || (next === 5 && !beyond && !odd)) return [kept, 0];
  const up = (BigInt(kept || '0') + 1n).toString().padStart(kept.length, '0');
  return [up, up.length > kept.length ? 1 : 0];
}

export interface Scientific {
  readonly digits: string;
  readonly exponent: number;
}

/** The magnitude of a finite number as `count` significant digits and a decimal exponent. */
function scientific(value: number, count: number): Scientific {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return { digits: '0'.repeat(count), exponent: 0 };
  const { digits, point } = exactDigits(magnitude);
  const [rounded, carried] = roundDigits(digits, count);
  return { digits: rounded.slice(0, count), exponent: point - 1 + carried };
}

/** `'%.{precision}e'` of a magnitude. */
export function exponent(value: number, precision: number, alternate = false): string {
  const { digits, exponent: power } = scientific(value, precision + 1);
  const point = precision > 0 || alternate ? '.' : '';
  return `${digits.charAt(0)}${point}${digits.slice(1)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** `'%.{precision}g'` of a magnitude; `keepPoint` is Python's default float format, which keeps one decimal. */
export function general(value: number, precision: number, alternate = false, keepPoint = false): string {
  const significant = Math.max(1, precision);
  const { digits, exponent: power } = scientific(value, significant);
  if (power < -4 || power >= significant - (keepPoint ? 1 : 0)) {
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
