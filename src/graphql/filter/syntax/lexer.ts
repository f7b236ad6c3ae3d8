import { errorAt, type Position } from './errors.js';
import type { FilterLimits } from './limits.js';
import { AppError } from '../../../foundation/errors.js';
import { ownValue } from '../../../foundation/ownValue.js';

/** `quoted` is a name in backticks: never a keyword. */
export interface Token {
  readonly kind: 'number' | 'text' | 'name' | 'quoted' | 'principal' | 'symbol' | 'end';
  /** For `text` and `quoted`, the content between the quotes with escapes resolved. */
  readonly text: string;
  readonly at: Position;
}

const SPACE = /\s+/y;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?/iy;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;
const PRINCIPAL = /\$_PRINCIPAL(?![\p{L}\p{N}_])/uy;
const SYMBOL = /<=|>=|<>|!=|<<|>>|==|&&|\|\||[=<>+\-*/%^&|#~()[\],.]/y;
const NAME_START = /[\p{L}_]/u;

/** Escape sequences in strings. Before any other character the backslash is kept, because of LIKE's `\%`. */
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Splits an expression into tokens; the last one is `end`.
 * @throws AppError FILTER_SYNTAX, FILTER_TOO_COMPLEX
 */
export function tokenize(text: string, limits: FilterLimits): Token[] {
  if (text.length > limits.textLength) {
    throw new AppError(
      'FILTER_TOO_COMPLEX',
      `The expression is longer than ${limits.textLength} characters.`,
    );
  }
  return new Lexer(text, limits).tokens();
}

class Lexer {
  #offset = 0;
  #line = 1;
  #lineStart = 0;

  constructor(
    private readonly text: string,
    private readonly limits: FilterLimits,
  ) {}

  tokens(): Token[] {
    const tokens: Token[] = [];
    for (;;) {
      this.#skipSpace();
      const token = this.#next();
      tokens.push(token);
      if (token.kind === 'end') return tokens;
      if (tokens.length > this.limits.tokens) {
        throw errorAt(
          'FILTER_TOO_COMPLEX',
          `The expression has more than ${this.limits.tokens} tokens.`,
          token.at,
        );
      }
    }
  }

  #next(): Token {
    const at = this.#position();
    const first = this.text[this.#offset];
    if (first === undefined) return { kind: 'end', text: '', at };
    if (first === "'" || first === '"') return { kind: 'text', text: this.#quoted(first, at), at };
    if (first === '`') return { kind: 'quoted', text: this.#quoted(first, at), at };
    const name = this.#take(NAME);
    if (name) return { kind: 'name', text: name[0], at };
    const number = this.#take(NUMBER);
    if (number) return { kind: 'number', text: this.#checkNumber(number, at), at };
    const symbol = this.#take(SYMBOL);
    if (symbol) return { kind: 'symbol', text: symbol[0], at };
    const principal = this.#take(PRINCIPAL);
    if (principal) return { kind: 'principal', text: principal[0], at };
    const character = String.fromCodePoint(this.text.codePointAt(this.#offset) ?? 0);
    throw errorAt(
      'FILTER_SYNTAX',
      `Unexpected character ${JSON.stringify(character)}`,
      at,
      character === '$' ? 'The caller is $_PRINCIPAL, in capitals: $_PRINCIPAL.roleid.' : undefined,
    );
  }

  #skipSpace(): void {
    const space = this.#take(SPACE);
    if (space) this.#countLines(space[0], this.#offset - space[0].length);
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#offset;
    const match = pattern.exec(this.text);
    if (match) this.#offset = pattern.lastIndex;
    return match;
  }

  /** Reads to the closing quote. A doubled quote is one quote; only strings have backslash escapes. */
  #quoted(quote: string, at: Position): string {
    let value = '';
    let from = this.#offset + 1;
    let i = from;
    for (; ; i++) {
      const c = this.text[i];
      if (c === undefined) {
        throw errorAt('FILTER_SYNTAX', `The ${quote} is never closed`, at, `Close the string with ${quote}.`);
      }
      if (c === '\0') throw errorAt('FILTER_SYNTAX', 'The expression has a NUL character', at);
      if (c === quote) {
        value += this.text.slice(from, i);
        if (this.text[i + 1] !== quote) break;
        value += quote;
        from = ++i + 1;
      } else if (c === '\\' && quote !== '`') {
        const replacement = ownValue(ESCAPES, this.text[i + 1] ?? '');
        if (replacement === undefined) continue;
        value += this.text.slice(from, i) + replacement;
        from = ++i + 1;
      }
    }
    this.#countLines(this.text.slice(this.#offset, i), this.#offset);
    this.#offset = i + 1;
    // UTF-8 can't represent it: another character would be searched for.
    if (!value.isWellFormed()) {
      throw errorAt('FILTER_SYNTAX', 'The text holds half of a surrogate pair, which is no character', at);
    }
    return value;
  }

  #checkNumber(match: RegExpExecArray, at: Position): string {
    const [text, exponent] = match;
    if (NAME_START.test(this.text[this.#offset] ?? '')) {
      throw errorAt('FILTER_SYNTAX', `Malformed number "${text}${this.text[this.#offset] ?? ''}"`, at);
    }
    const maxDigits = this.limits.numberLength;
    if (text.length > maxDigits || Math.abs(Number(exponent ?? 0)) > maxDigits) {
      throw errorAt('FILTER_TOO_COMPLEX', `A number has more than ${maxDigits} digits`, at);
    }
    return text;
  }

  #position(): Position {
    return { offset: this.#offset, line: this.#line, column: this.#offset - this.#lineStart + 1 };
  }

  #countLines(text: string, start: number): void {
    for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) {
      this.#line++;
      this.#lineStart = start + i + 1;
    }
  }
}
