/** What the reader leaves to its caller: how numbers and objects are represented. */
export interface JsonValues {
  /** @param literal as written */
  number(literal: string): unknown;
  /** @param members in the order of the text, repeated names included */
  object(members: readonly (readonly [name: string, value: unknown])[]): unknown;
}

interface Open {
  readonly close: '}' | ']';
  readonly members: [string, unknown][];
  readonly items: unknown[];
  name: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
// eslint-disable-next-line no-control-regex -- what a string must not hold is for JSON.parse to refuse
const NOT_PLAIN = /[\\\u0000-\u001f]/;
const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;

/**
 * Reads JSON as JSON.parse does, but hands over numbers as they are written. Iterative: depth costs no stack.
 * Throws SyntaxError for what is no JSON, or nests deeper than `maxDepth`.
 */
export function readJson(text: string, values: JsonValues, maxDepth = Infinity): unknown {
  return new Reader(text, values, maxDepth).read();
}

class Reader {
  #at = 0;
  readonly #open: Open[] = [];

  constructor(
    private readonly text: string,
    private readonly values: JsonValues,
    private readonly maxDepth: number,
  ) {}

  read(): unknown {
    for (;;) {
      this.#space();
      const value = this.#begin();
      if (value !== OPENED && this.#end(value)) return this.#result;
    }
  }

  #result: unknown;

  /** A value that is complete, or a list or an object whose first value comes next. */
  #begin(): unknown {
    const char = this.text[this.#at];
    if (char !== '{' && char !== '[') return this.#scalar();
    if (this.#open.length >= this.maxDepth) {
      throw new SyntaxError(`the JSON nests deeper than ${this.maxDepth} levels`);
    }
    const open: Open = { close: char === '{' ? '}' : ']', members: [], items: [], name: '' };
    this.#at++;
    if (this.#skip(open.close)) return this.#valueOf(open);
    this.#open.push(open);
    if (char === '{') this.#name(open);
    return OPENED;
  }

  /** Puts a value where it belongs, and closes what ends with it. @returns whether the text is read */
  #end(value: unknown): boolean {
    for (;;) {
      const open = this.#open.at(-1);
      if (!open) {
        this.#space();
        if (this.#at < this.text.length) throw this.#unexpected();
        this.#result = value;
        return true;
      }
      if (open.close === '}') open.members.push([open.name, value]);
      else open.items.push(value);
      if (this.#skip(',')) {
        if (open.close === '}') this.#name(open);
        return false;
      }
      if (!this.#skip(open.close)) throw this.#unexpected();
      this.#open.pop();
      value = this.#valueOf(open);
    }
  }

  #valueOf({ close, members, items }: Open): unknown {
    return close === '}' ? this.values.object(members) : items;
  }

  #name(open: Open): void {
    this.#space();
    if (this.text[this.#at] !== '"') throw this.#unexpected();
    open.name = this.#string();
    if (!this.#skip(':')) throw this.#unexpected();
  }

  #scalar(): unknown {
    if (this.text[this.#at] === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.text)?.[0];
    if (literal === undefined) throw this.#unexpected();
    this.#at += literal.length;
    return this.values.number(literal);
  }

  #string(): string {
    const start = this.#at;
    let end = start;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) throw new SyntaxError('a string of the JSON has no end');
    } while (this.#isEscaped(end));
    this.#at = end + 1;
    const inner = this.text.slice(start + 1, end);
    return NOT_PLAIN.test(inner) ? (JSON.parse(`"${inner}"`) as string) : inner;
  }

  #isEscaped(quote: number): boolean {
    let first = quote;
    while (this.text[first - 1] === '\\') first--;
    return (quote - first) % 2 === 1;
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.text);
    this.#at = SPACE.lastIndex;
  }

  #skip(mark: string): boolean {
    this.#space();
    if (this.text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  #unexpected(): SyntaxError {
    const found = this.#at < this.text.length ? `'${this.text[this.#at]}'` : 'end';
    return new SyntaxError(`unexpected ${found} in JSON at position ${this.#at}`);
  }
}

const OPENED = Symbol('a list or an object');
