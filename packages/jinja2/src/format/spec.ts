import { ownValue } from '../ownValue.js';
import type { Budget } from '../limits.js';
import { renderFault, type Fault } from '../errors.js';
import { sliceCodePoints } from '../values/codePoints.js';
import { asInteger, asNumber, floatText } from '../values/numbers.js';
import { Decimal } from '../values/decimal.js';
import { str } from '../values/text.js';
import { isFloat, isInt, isText, textOf, typeName, type Value } from '../values/value.js';
import { exponent, fixed, general } from './decimal.js';
import { formatDecimal } from './decimalSpec.js';
import { pad, padNumber, signOf, type FormatSpec } from './padding.js';

const SPEC =
  /^(?:(?<fill>.)(?=[<>=^]))?(?<align>[<>=^])?(?<sign>[-+ ])?(?<positiveZero>z)?(?<alternate>#)?(?<zero>0)?(?<width>[0-9]+)?(?<grouping>[,_])?(?:\.(?<precision>[0-9]+))?(?<type>[a-zA-Z%])?$/su;

function parseSpec(text: string, budget: Budget): FormatSpec {
  const groups = SPEC.exec(text)?.groups;
  if (!groups) throw renderFault('Invalid format specifier');
  const { fill, align, sign, positiveZero, alternate, zero, width, grouping, precision, type } = groups;
  budget.checkWidth(Number(width ?? 0));
  budget.checkWidth(Number(precision ?? 0));
  if (grouping && type === 'n') throw renderFault(`Cannot specify '${grouping}' with 'n'.`);
  return {
    fill: fill ?? (zero ? '0' : ' '),
    align: align ?? (zero ? '=' : ''),
    explicitAlign: align !== undefined,
    sign: sign ?? '',
    positiveZero: positiveZero !== undefined,
    alternate: alternate !== undefined,
    width: Number(width ?? 0),
    grouping: grouping ?? '',
    precision: precision === undefined ? undefined : Number(precision),
    type: type ?? '',
  };
}

/** Python's `format(value, spec)`. */
export function formatValue(value: Value, specText: string, budget: Budget): string {
  if (specText === '') return str(value, budget);
  const spec = parseSpec(specText, budget);
  budget.allocate(spec.width);
  if (isText(value)) return formatText(textOf(value), spec);
  if (isInt(value)) return formatInt(value, spec);
  if (isFloat(value)) return formatFloat(asNumber(value) ?? 0, spec);
  if (value instanceof Decimal) return formatDecimal(value, spec, budget);
  throw renderFault(`unsupported format string passed to ${typeName(value)}.__format__`);
}

function formatText(text: string, spec: FormatSpec): string {
  if (spec.type !== '' && spec.type !== 's') throw unknownCode(spec, 'str');
  if (spec.sign !== '') throw renderFault('Sign not allowed in string format specifier');
  if (spec.positiveZero) throw noPositiveZero('string');
  if (spec.alternate) throw renderFault('Alternate form (#) not allowed in string format specifier');
  if (spec.align === '=' && spec.explicitAlign) {
    throw renderFault("'=' alignment not allowed in string format specifier");
  }
  if (spec.grouping !== '') throw renderFault(`Cannot specify '${spec.grouping}' with 's'.`);
  const cut = spec.precision === undefined ? text : sliceCodePoints(text, 0, spec.precision);
  return pad(cut, spec, spec.align === '' || spec.align === '=' ? '<' : spec.align);
}

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 };

function formatInt(value: number | bigint | boolean, spec: FormatSpec): string {
  if ('eEfFgG%'.includes(spec.type) && spec.type !== '') return formatFloat(asNumber(value) ?? 0, spec);
  if (typeof value === 'boolean' && spec.type === '') return formatInt(Number(value), { ...spec, type: 'd' });
  if (!['', 'd', 'n', 'c', 'b', 'o', 'x', 'X'].includes(spec.type)) throw unknownCode(spec, 'int');
  if (spec.precision !== undefined) throw renderFault('Precision not allowed in integer format specifier');
  if (spec.positiveZero) throw noPositiveZero('integer');
  const integer = asInteger(value) ?? 0;
  if (spec.type === 'c') {
    if (spec.sign !== '') throw renderFault("Sign not allowed with integer format specifier 'c'");
    if (spec.alternate) throw renderFault("Alternate form (#) not allowed with integer format specifier 'c'");
    if (spec.grouping !== '') throw renderFault(`Cannot specify '${spec.grouping}' with 'c'.`);
    return pad(characterOf(integer), spec, spec.align || '<');
  }
  const radix = ownValue(RADIX, spec.type) ?? 10;
  if (radix !== 10 && spec.grouping === ',') throw renderFault(`Cannot specify ',' with '${spec.type}'.`);
  let digits = (integer < 0 ? -integer : integer).toString(radix);
  if (spec.type === 'X') digits = digits.toUpperCase();
  const prefix = spec.alternate && radix !== 10 ? `0${spec.type}` : '';
  return padNumber(signOf(integer < 0, digits, spec) + prefix, digits, '', spec, radix === 10 ? 3 : 4);
}

/** The character of a code point, as `%c` and `{:c}` print it. */
export function characterOf(code: number | bigint): string {
  if (code < 0 || code > 0x10ffff) throw renderFault('%c arg not in range(0x110000)');
  return String.fromCodePoint(Number(code));
}

function formatFloat(value: number, spec: FormatSpec): string {
  if (spec.type !== '' && !'eEfFgGn%'.includes(spec.type)) throw unknownCode(spec, 'float');
  const negative = value < 0 || Object.is(value, -0);
  const text = floatDigits(spec.type === '%' ? value * 100 : value, spec);
  const upper = spec.type === 'E' || spec.type === 'F' || spec.type === 'G' ? text.toUpperCase() : text;
  const [, whole = '', rest = ''] = /^(\d*)(.*)$/s.exec(upper) ?? [];
  return padNumber(signOf(negative, upper, spec), whole, rest + (spec.type === '%' ? '%' : ''), spec, 3);
}

/** The magnitude, before sign, grouping and padding. */
function floatDigits(value: number, spec: FormatSpec): string {
  const magnitude = Math.abs(value);
  if (!Number.isFinite(magnitude)) return Number.isNaN(magnitude) ? 'nan' : 'inf';
  switch (spec.type.toLowerCase()) {
    case 'f':
    case '%': {
      const text = fixed(magnitude, spec.precision ?? 6);
      return spec.alternate && !text.includes('.') ? `${text}.` : text;
    }
    case 'e':
      return exponent(magnitude, spec.precision ?? 6, spec.alternate);
    case 'g':
    case 'n':
      return general(magnitude, spec.precision ?? 6, spec.alternate);
    default:
      return spec.precision === undefined
        ? shortest(magnitude, spec.alternate)
        : general(magnitude, spec.precision, spec.alternate, true);
  }
}

/** The shortest digits that are this float; the alternate form always has a point: `1.e+16`. */
function shortest(magnitude: number, alternate: boolean): string {
  const text = floatText(magnitude);
  return alternate && !text.includes('.') ? text.replace('e', '.e') : text;
}

function noPositiveZero(kind: string): Fault {
  return renderFault(`Negative zero coercion (z) not allowed in ${kind} format specifier`);
}

function unknownCode(spec: FormatSpec, type: string): Fault {
  return renderFault(`Unknown format code '${spec.type}' for object of type '${type}'`);
}
