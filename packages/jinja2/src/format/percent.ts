import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { codePointLength, sliceCodePoints } from '../values/codePoints.js';
import { Decimal } from '../values/decimal.js';
import { decimalToInt } from '../values/decimalOperators.js';
import { Dict } from '../values/dict.js';
import { escapeHtml, htmlOf } from '../values/escape.js';
import { asInteger, asNumber, fromBigInt } from '../values/numbers.js';
import { hexEscape, repr, str } from '../values/text.js';
import {
  isFloat,
  isInt,
  isList,
  isText,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Text,
  type Value,
} from '../values/value.js';
import { exponent, fixed, general } from './decimal.js';
import { pad } from './padding.js';
import { characterOf } from './spec.js';

const DIRECTIVE =
  /%(?:\((?<key>(?:[^()]|\([^()]*\))*)\))?(?<flags>[-+ #0]*)(?<width>\*|[0-9]+)?(?:\.(?<precision>\*|[0-9]+)?(?<point>))?[hlL]?(?<type>[^]|$)/gu;

interface Directive {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly type: string;
}

/** Python's `format % argument`: markup escapes its arguments. */
export function percentFormat(format: Text, argument: Value, budget: Budget): Text {
  const text = new PercentFormatter(argument, format instanceof Markup, budget).format(textOf(format));
  return format instanceof Markup ? new Markup(text) : text;
}

class PercentFormatter {
  private readonly positional: readonly Value[];
  private used = 0;
  private keyed = false;

  constructor(
    private readonly argument: Value,
    private readonly escaping: boolean,
    private readonly budget: Budget,
  ) {
    this.positional = argument instanceof Tuple ? argument.items : [argument];
  }

  format(source: string): string {
    let out = '';
    let end = 0;
    for (const match of source.matchAll(DIRECTIVE)) {
      this.budget.step();
      const text = this.directive(match);
      this.budget.allocate(text.length);
      out += source.slice(end, match.index) + text;
      end = match.index + match[0].length;
    }
    this.checkAllUsed();
    return out + source.slice(end);
  }

  private directive(match: RegExpMatchArray): string {
    const { key, flags = '', width, precision, point, type = '' } = match.groups ?? {};
    if (type === '') throw renderFault('incomplete format');
    if (match[0] === '%%') return '%';
    const named = key === undefined ? undefined : { value: this.lookup(key) };
    const asked = this.size(width) ?? 0;
    const directive: Directive = {
      flags: asked < 0 ? `${flags}-` : flags,
      width: Math.abs(asked),
      precision: point === undefined ? undefined : Math.max(0, this.size(precision) ?? 0),
      type,
    };
    const text = this.convert(directive, named ? named.value : this.next());
    return pad(text, { width: directive.width, fill: ' ' }, directive.flags.includes('-') ? '<' : '>');
  }

  private lookup(key: string): Value {
    this.keyed = true;
    if (!(this.argument instanceof Dict)) throw renderFault('format requires a mapping');
    const value = this.argument.get(key);
    if (value === undefined) throw renderFault(`KeyError: '${key}'`);
    return value;
  }

  /** A width or precision; `*` takes it from the arguments. */
  private size(text: string | undefined): number | undefined {
    if (text === undefined) return undefined;
    const value = text === '*' ? asInteger(this.next()) : Number(text);
    if (value === undefined) throw renderFault('* wants int');
    this.budget.checkWidth(Math.abs(Number(value)));
    return Number(value);
  }

  private next(): Value {
    const value = this.keyed ? undefined : this.positional[this.used];
    if (value === undefined) throw renderFault('not enough arguments for format string');
    this.used++;
    return value;
  }

  /** Left-over arguments are an error, except for one that could have been a mapping. */
  private checkAllUsed(): void {
    const { argument } = this;
    const mapping =
      argument instanceof Dict ||
      isList(argument) ||
      argument instanceof Undefined ||
      argument instanceof Range;
    if (!this.keyed && !mapping && this.used < this.positional.length) {
      throw renderFault('not all arguments converted during string formatting');
    }
  }

  private convert(directive: Directive, value: Value): string {
    const { type, precision } = directive;
    switch (type) {
      case 's':
        return cut(this.escaping ? htmlOf(value, this.budget) : str(value, this.budget), precision);
      case 'r':
      case 'a': {
        const text = repr(value, this.budget);
        const ascii = type === 'a' ? text.replace(/\P{ASCII}/gu, hexEscape) : text;
        return cut(this.escaping ? escapeHtml(ascii) : ascii, precision);
      }
      case 'c':
        return character(value);
      case 'd':
      case 'i':
      case 'u':
        return signed(integerOf(value, type, this.escaping), directive, (magnitude) => magnitude.toString());
      case 'o':
      case 'x':
      case 'X':
        return this.radix(directive, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return floating(directive, floatOf(value));
      default:
        throw renderFault(
          `unsupported format character '${type}' (0x${(type.codePointAt(0) ?? 0).toString(16)})`,
        );
    }
  }

  private radix(directive: Directive, value: Value): string {
    const integer = asInteger(value);
    if (integer === undefined)
      throw renderFault(`%${directive.type} format: an integer is required, not ${typeName(value)}`);
    const text = signed(
      integer,
      directive,
      (magnitude) => magnitude.toString(directive.type === 'o' ? 8 : 16),
      directive.flags.includes('#') ? `0${directive.type}` : '',
    );
    return directive.type === 'X' ? text.toUpperCase() : text;
  }
}

function cut(text: string, precision: number | undefined): string {
  return precision === undefined ? text : sliceCodePoints(text, 0, precision);
}

function character(value: Value): string {
  const integer = asInteger(value);
  if (integer !== undefined) return characterOf(integer);
  if (isText(value) && codePointLength(textOf(value)) === 1) return textOf(value);
  throw renderFault('%c requires int or char');
}

function integerOf(value: Value, type: string, escaping: boolean): number | bigint {
  const integer = asInteger(value);
  if (integer !== undefined) return integer;
  if (value instanceof Decimal) return decimalToInt(value);
  if (!isFloat(value)) {
    if (value instanceof Undefined && !escaping) throw value.fault();
    throw renderFault(`%${type} format: a real number is required, not ${typeName(value)}`);
  }
  const number = asNumber(value) ?? NaN;
  if (!Number.isFinite(number))
    throw renderFault(`cannot convert float ${Number.isNaN(number) ? 'NaN' : 'infinity'} to integer`);
  return fromBigInt(BigInt(Math.trunc(number)));
}

function floatOf(value: Value): number {
  if (value instanceof Decimal) return value.toNumber();
  const number = isInt(value) || isFloat(value) ? asNumber(value) : undefined;
  if (number !== undefined) return number;
  if (value instanceof Undefined) throw value.fault();
  throw renderFault(`must be real number, not ${typeName(value)}`);
}

function signText(negative: boolean, flags: string): string {
  if (negative) return '-';
  return flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
}

function signed(
  value: number | bigint,
  directive: Directive,
  digitsOf: (magnitude: number | bigint) => string,
  prefix = '',
): string {
  const digits = digitsOf(value < 0 ? -value : value).padStart(directive.precision ?? 0, '0');
  return zeroPad(signText(value < 0, directive.flags) + prefix, digits, directive);
}

function floating(directive: Directive, value: number): string {
  const magnitude = Math.abs(value);
  const alternate = directive.flags.includes('#');
  const precision = directive.precision ?? 6;
  let digits: string;
  if (!Number.isFinite(value)) digits = Number.isNaN(value) ? 'nan' : 'inf';
  else if (directive.type === 'f' || directive.type === 'F') digits = fixed(magnitude, precision);
  else if (directive.type === 'e' || directive.type === 'E')
    digits = exponent(magnitude, precision, alternate);
  else digits = general(magnitude, precision, alternate);
  if (alternate && Number.isFinite(value) && !digits.includes('.')) digits += '.';
  const upper = 'EFG'.includes(directive.type) ? digits.toUpperCase() : digits;
  return zeroPad(signText(value < 0 || Object.is(value, -0), directive.flags), upper, directive);
}

function zeroPad(sign: string, digits: string, { flags, width }: Directive): string {
  if (!flags.includes('0') || flags.includes('-')) return sign + digits;
  return sign + digits.padStart(width - sign.length, '0');
}
