import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { Decimal } from '../values/decimal.js';
import { rescaled, significant, withDigits } from '../values/decimalArithmetic.js';
import { padNumber, signOf, type FormatSpec } from './padding.js';

/** Python's `format(value, spec)` of a Decimal: on its own digits, half to even, never through a double. */
export function formatDecimal(value: Decimal, spec: FormatSpec, budget: Budget): string {
  const type = spec.type === 'n' ? 'g' : spec.type;
  if (spec.alternate || spec.grouping === '_' || (type !== '' && !'eEfFgG%'.includes(type)))
    throw renderFault('invalid format string');
  const { isNegative, coefficient, exponent } = value;
  const percent = type === '%' ? new Decimal(isNegative, coefficient, exponent + 2) : value;
  const isBareZero = isFixed(type) && percent.isZero && percent.exponent > 0;
  const scaled = isBareZero ? rescaled(percent, 0) : percent;
  budget.allocate(spec.precision ?? 0);
  const shown = spec.precision === undefined ? scaled : roundedTo(scaled, type, spec.precision);
  const whole = wholeDigits(shown, type, spec.precision);
  budget.allocate(shown.length + Math.abs(whole));
  const digits = shown.digitText;
  const power = shown.exponent + digits.length - whole;
  const before = digits.slice(0, Math.max(0, whole)).padEnd(whole, '0') || '0';
  const written = '0'.repeat(Math.max(0, -whole)) + digits.slice(Math.max(0, whole));
  const after = isFixed(type) ? written.padEnd(spec.precision ?? 0, '0') : written;
  const rest = `${after === '' ? '' : '.'}${after}${exponentText(power, type)}${type === '%' ? '%' : ''}`;
  return padNumber(signOf(isNegative, before + rest, spec), before, rest, spec, 3);
}

function isFixed(type: string): boolean {
  return type === 'f' || type === 'F' || type === '%';
}

/** Drops excess digits. Trailing zeros of the fraction are added when it is written. */
function roundedTo(value: Decimal, type: string, precision: number): Decimal {
  if (isFixed(type)) return value.exponent < -precision ? rescaled(value, -precision) : value;
  if (type !== 'e' && type !== 'E') return significant(value, Math.max(1, precision));
  return value.isZero ? value : withDigits(value, precision + 1);
}

/** The number of digits before the point; negative for zeros after it. */
function wholeDigits(value: Decimal, type: string, precision: number | undefined): number {
  const left = value.exponent + value.length;
  switch (type) {
    case 'f':
    case 'F':
    case '%':
      return left;
    case 'e':
    case 'E':
      return value.isZero && precision !== undefined ? 1 - precision : 1;
    case '':
      return value.isWrittenInFull ? left : 1;
    default:
      return value.exponent <= 0 && left > -6 ? left : 1;
  }
}

function exponentText(power: number, type: string): string {
  const isScientific = type === 'e' || type === 'E';
  if (power === 0 && !isScientific) return '';
  return `${type === 'e' || type === 'g' ? 'e' : 'E'}${power < 0 ? '-' : '+'}${Math.abs(power)}`;
}
