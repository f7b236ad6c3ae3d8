import { fromBigInt } from './values/numbers.js';
import { Dict } from './values/dict.js';
import { toFloat } from './values/value.js';
import type { Value } from './values/value.js';

/**
 * Literals that JSON.parse would lose something of: whole floats (`10.0`, `1e3`), integers beyond 2^53, `-0.0`,
 * and keys that look like indexes, which JavaScript's objects move to the front.
 */
const NEEDS_OWN_READER = /\d\.0*(?!\d)|\d[eE]|\d{16}|"\d+"\s*:/;

/**
 * JSON text as values that keep Python's types: `10.0` stays a float, big integers stay exact.
 * @throws SyntaxError when it is no JSON
 */
export function parseContextJson(text: string): Value {
  return NEEDS_OWN_READER.test(text) ? new JsonReader(text).read() : (JSON.parse(text) as Value);
}

const MAX_DEPTH = 500;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
// eslint-disable-next-line no-control-regex -- JSON forbids them within strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;

class JsonReader {
  private position = 0;

  constructor(private readonly text: string) {}

  read(): Value {
    const value = this.value(0);
    this.space();
    if (this.position < this.text.length) throw this.unexpected();
    return value;
  }

  private value(depth: number): Value {
    if (depth > MAX_DEPTH) throw new SyntaxError(`the JSON nests deeper than ${MAX_DEPTH} levels`);
    this.space();
    switch (this.text.charAt(this.position)) {
      case '{':
        return this.object(depth);
      case '[':
        return this.array(depth);
      case '"':
        return this.string();
      case 't':
        return this.word('true', true);
      case 'f':
        return this.word('false', false);
      case 'n':
        return this.word('null', null);
      default:
        return this.number();
    }
  }

  private object(depth: number): Value {
    const entries: [string, Value][] = [];
    this.items('}', () => {
      this.space();
      const key = this.string();
      this.expect(':');
      entries.push([key, this.value(depth + 1)]);
    });
    const plain = entries.every(([key]) => !/^\d+$/.test(key) && key !== '__proto__');
    return plain ? Object.fromEntries(entries) : Dict.of(entries);
  }

  private array(depth: number): Value[] {
    const items: Value[] = [];
    this.items(']', () => items.push(this.value(depth + 1)));
    return items;
  }

  /** What stands between brackets, separated by commas. */
  private items(close: string, readItem: () => void): void {
    this.position++;
    if (this.skip(close)) return;
    do readItem();
    while (this.skip(','));
    this.expect(close);
  }

  private string(): string {
    const literal = this.match(STRING);
    if (literal === undefined) throw this.unexpected();
    return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  }

  private number(): Value {
    NUMBER.lastIndex = this.position;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.unexpected();
    this.position = NUMBER.lastIndex;
    const [literal, fraction, exponent] = match;
    return fraction === undefined && exponent === undefined
      ? fromBigInt(BigInt(literal))
      : toFloat(Number(literal));
  }

  private word<T extends Value>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.position)) throw this.unexpected();
    this.position += word.length;
    return value;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    this.position += found?.length ?? 0;
    return found;
  }

  private space(): void {
    this.match(SPACE);
  }

  private skip(mark: string): boolean {
    this.space();
    if (this.text.charAt(this.position) !== mark) return false;
    this.position++;
    return true;
  }

  private expect(mark: string): void {
    if (!this.skip(mark)) throw this.unexpected();
  }

  private unexpected(): SyntaxError {
    const found = this.position < this.text.length ? `'${this.text.charAt(this.position)}'` : 'end';
    return new SyntaxError(`unexpected ${found} in JSON at position ${this.position}`);
  }
}
