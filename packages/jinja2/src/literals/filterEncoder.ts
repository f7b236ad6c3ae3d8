import { renderFault, type Fault } from '../errors.js';
import { floatText } from '../values/numbers.js';
import { Decimal } from '../values/decimal.js';
import { decimalToInt } from '../values/decimalOperators.js';
import { sequenceItems } from '../values/dict.js';
import { Float, isText, textOf, typeName, Undefined, type Value } from '../values/value.js';
import type { LiteralEncoder } from './literalEncoder.js';

const WORD_CHARACTER = /[\p{L}\p{N}_.$]/u;
const MAX_LITERAL_DIGITS = 300;
const NUMBER = /^-?\d{1,300}(?:\.\d{1,300})?$/;

/**
 * Values in filter expressions. Within quotes, a value is escaped and stays text; outside, it must be a number (or numeric
 * text, such as keys), true, false, null, or a list of literals.
 */
export class FilterEncoder implements LiteralEncoder {
  /** The quote that is currently open, or ''. */
  private quote = '';
  private afterBackslash = false;
  /** The previous character, and whether a value printed it. */
  private last = '';
  private lastIsValue = false;

  follow(text: string): void {
    const [first = ''] = text;
    if (this.quote === '' && this.lastIsValue && WORD_CHARACTER.test(first)) throw adjoining();
    for (const character of text) this.step(character);
    if (text !== '') {
      this.last = Array.from(text.slice(-2)).at(-1) ?? '';
      this.lastIsValue = false;
    }
  }

  private step(character: string): void {
    if (this.quote === '') {
      if (character === "'" || character === '"') this.quote = character;
    } else if (this.afterBackslash) {
      this.afterBackslash = false;
    } else if (character === '\\') {
      this.afterBackslash = true;
    } else if (character === this.quote) {
      this.quote = '';
    }
  }

  encode(value: Value, text: string): string {
    if (this.quote !== '') {
      if (this.afterBackslash) throw renderFault('a value cannot follow a backslash');
      return escapeQuoted(text);
    }
    if (this.lastIsValue || WORD_CHARACTER.test(this.last)) throw adjoining();
    const literal = literalOf(value);
    this.lastIsValue = true;
    return literal.startsWith('-') && this.last === '-' ? ` ${literal}` : literal;
  }
}

function adjoining(): Fault {
  return renderFault(
    'a value outside quotes cannot touch a name or another value',
    'put a space or quotes around it',
  );
}

/** In the filter language, a backslash escapes in either kind of quotes. */
function escapeQuoted(text: string): string {
  return text.replace(/['"\\]/g, '\\$&');
}

function literalOf(value: Value): string {
  const items = sequenceItems(value);
  if (items !== undefined)
    return `[${items.map((item) => (isText(item) ? `'${escapeQuoted(textOf(item))}'` : scalar(item))).join(', ')}]`;
  return scalar(value);
}

function scalar(value: Value): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'number':
      if (Number.isFinite(value)) return Number.isInteger(value) ? String(value) : plainDecimal(value);
      throw renderFault(`${floatText(value)} is no number of the filter language`);
    default:
      if (value instanceof Float) return plainDecimal(value.value);
      if (value instanceof Decimal) return decimalLiteral(value);
      if (isText(value) && NUMBER.test(textOf(value))) return textOf(value);
      throw notLiteral(value);
  }
}

/** A float without an exponent if that is short enough. */
function plainDecimal(value: number): string {
  const text = floatText(value);
  if (!text.includes('e')) return text;
  return Math.abs(value) >= 1 ? BigInt(value).toString() : value.toFixed(100).replace(/0+$/, '');
}

/** Written in full, because the filter language has no exponents. */
function decimalLiteral(value: Decimal): string {
  if (value.exponent <= 0 && NUMBER.test(value.text)) return value.text;
  if (value.exponent > 0 && value.adjusted < MAX_LITERAL_DIGITS) return decimalToInt(value).toString();
  throw renderFault('the number is too long for a filter');
}

function notLiteral(value: Value): Fault {
  if (value instanceof Undefined) return renderFault(`${value.message}: a filter needs a value here`);
  if (isText(value)) return renderFault('text outside quotes in a filter', "put quotes around it: '{{ … }}'");
  return renderFault(`a ${typeName(value)} cannot stand in a filter outside quotes`);
}
