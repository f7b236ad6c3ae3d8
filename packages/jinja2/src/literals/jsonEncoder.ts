import { renderFault, limitFault, type Fault } from '../errors.js';
import { Decimal } from '../values/decimal.js';
import { Dict, sequenceItems } from '../values/dict.js';
import { asNumber, floatText } from '../values/numbers.js';
import { isFloat, isText, JsonMarkup, textOf, typeName, Undefined, type Value } from '../values/value.js';
import type { LiteralEncoder } from './literalEncoder.js';

const MAX_DEPTH = 200;

/**
 * Values in a JSON document. Within a string, a value is escaped and stays part of it; outside, it is written as a separate
 * JSON value, with quotes if it is text.
 */
export class JsonEncoder implements LiteralEncoder {
  private inString = false;
  private afterBackslash = false;
  private last = '';
  private lastIsValue = false;

  /** Whether the output is currently within a string that the template opened. */
  get isInString(): boolean {
    return this.inString;
  }

  follow(text: string): void {
    if (text === '') return;
    if (!this.inString && this.lastIsValue && isWord(text.charAt(0))) throw adjoining();
    for (const character of text) {
      if (!this.inString) this.inString = character === '"';
      else if (this.afterBackslash) this.afterBackslash = false;
      else if (character === '\\') this.afterBackslash = true;
      else if (character === '"') this.inString = false;
    }
    this.last = text.charAt(text.length - 1);
    this.lastIsValue = false;
  }

  encode(value: Value, text: string): string {
    if (this.inString) {
      if (this.afterBackslash) throw renderFault('a value cannot follow a backslash');
      return JSON.stringify(text).slice(1, -1);
    }
    if (this.lastIsValue || isWord(this.last)) throw adjoining();
    this.lastIsValue = true;
    return value instanceof JsonMarkup ? value.text : jsonOf(value, 0);
  }
}

function isWord(character: string): boolean {
  return /[\w.+"-]/.test(character);
}

function adjoining(): Fault {
  return renderFault(
    'a value outside quotes cannot touch another value',
    'put a comma or quotes between them',
  );
}

function jsonOf(value: Value, depth: number): string {
  if (depth > MAX_DEPTH) throw limitFault('the value nests too deeply to be written as JSON');
  if (value === null || typeof value === 'boolean') return String(value);
  if (isText(value)) return JSON.stringify(textOf(value));
  if (isFloat(value)) {
    const number = asNumber(value) ?? NaN;
    if (Number.isFinite(number)) return floatText(number);
    throw renderFault(`${floatText(number)} is no JSON number`);
  }
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString();
  if (value instanceof Decimal) return value.text;
  const items = sequenceItems(value);
  if (items !== undefined) return `[${items.map((item) => jsonOf(item, depth + 1)).join(', ')}]`;
  if (value instanceof Dict) {
    const parts = value.entries().map(([key, item]) => {
      if (!isText(key)) throw renderFault(`a key of JSON must be text, not ${typeName(key)}`);
      return `${JSON.stringify(textOf(key))}: ${jsonOf(item, depth + 1)}`;
    });
    return `{${parts.join(', ')}}`;
  }
  if (value instanceof Undefined) throw value.fault();
  throw renderFault(`a ${typeName(value)} cannot be written as JSON`);
}
