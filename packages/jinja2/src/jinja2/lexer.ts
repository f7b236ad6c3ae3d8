import { Fault } from '../errors.js';
import { isSpace, stripEnd } from '../values/whitespace.js';
import { characterHint, COMMENT_HINT } from './hints.js';
import { unescapeString } from './stringLiteral.js';
import { syntaxFault } from './syntaxFault.js';
import { OPERATORS } from './tokens.js';
import type { Operator, Token, TokenType } from './tokens.js';

const RAW_BEGIN = /\{%[-+]?\s*raw\s*(?:-%\}|%\})/y;
const RAW_END = /\{%([-+]?)\s*endraw\s*(?:([-+])?%\})/g;
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{XIDS}_][\p{XIDC}]*/uy;

/** Normalizes the source like Jinja2: one kind of newline, and a single trailing newline dropped. */
export function normalizeSource(source: string): string {
  const text = source.includes('\r') ? source.replace(/\r\n?/g, '\n') : source;
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** Tokens that end with `eof`, or before one that can't be read. */
export interface Tokens {
  readonly tokens: readonly Token[];
  /** Why the next token can't be read. */
  readonly fault: Fault | undefined;
}

/** The tokens of a normalized source. */
export function tokenize(source: string): Tokens {
  return new Lexer(source).run();
}

const OPERATORS_BY_TEXT: ReadonlyMap<string, Operator> = new Map(
  OPERATORS.map((operator) => [operator, operator]),
);

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

class Lexer {
  private readonly tokens: Token[] = [];
  private position = 0;

  constructor(private readonly source: string) {}

  run(): Tokens {
    const { tokens } = this;
    try {
      while (this.position < this.source.length) this.readData();
      this.push('eof', '', this.source.length);
      return { tokens, fault: undefined };
    } catch (fault) {
      // The parser may find an error before it.
      if (fault instanceof Fault) return { tokens, fault };
      throw fault;
    }
  }

  private push(type: TokenType, value: string, offset: number): void {
    this.tokens.push({ type, value, offset });
  }

  /** Text up to the next tag, and that tag. */
  private readData(): void {
    const { source, position } = this;
    const begin = this.nextTag(position);
    if (begin < 0) {
      this.push('data', source.slice(position), position);
      this.position = source.length;
      return;
    }
    const sign = source.charAt(begin + 2);
    const raw = matchAt(RAW_BEGIN, source, begin);
    const text = source.slice(position, begin);
    const data = sign === '-' ? stripEnd(text) : text;
    if (data !== '') this.push('data', data, position);
    if (raw !== undefined) this.readRaw(begin, raw);
    else {
      this.position = begin + (sign === '-' || sign === '+' ? 3 : 2);
      this.readTag(source.charAt(begin + 1), begin);
    }
  }

  private nextTag(from: number): number {
    for (let at = this.source.indexOf('{', from); at >= 0; at = this.source.indexOf('{', at + 1)) {
      const kind = this.source.charAt(at + 1);
      if (kind === '%' || kind === '{' || kind === '#') return at;
    }
    return -1;
  }

  private readTag(kind: string, begin: number): void {
    if (kind === '#') this.skipComment(begin);
    else if (kind === '%') {
      this.push('block_begin', '', begin);
      this.readExpression('block_end', '%}', begin);
    } else {
      this.push('variable_begin', '', begin);
      this.readExpression('variable_end', '}}', begin);
    }
  }

  private skipComment(begin: number): void {
    const start = this.position;
    // Jinja2 lets one be that nothing follows, and likewise a raw block.
    if (start === this.source.length) return;
    const end = this.source.indexOf('#}', start);
    if (end < 0) throw syntaxFault('Missing end of comment tag', begin, COMMENT_HINT);
    this.position = end + 2;
    if (end > start && this.source.charAt(end - 1) === '-') this.skipSpace();
  }

  private readRaw(begin: number, tag: string): void {
    this.position = begin + tag.length;
    if (tag.endsWith('-%}')) this.skipSpace();
    if (this.position === this.source.length) return;
    RAW_END.lastIndex = this.position;
    const end = RAW_END.exec(this.source);
    if (end === null) throw syntaxFault('Missing end of raw directive', begin);
    const text = this.source.slice(this.position, end.index);
    const data = end[1] === '-' ? stripEnd(text) : text;
    if (data !== '') this.push('data', data, this.position);
    this.position = end.index + end[0].length;
    if (end[2] === '-') this.skipSpace();
  }

  private skipSpace(): void {
    while (this.position < this.source.length && isSpace(this.source.charCodeAt(this.position)))
      this.position++;
  }

  /** Reads the tokens up to the end of a tag. An end within brackets doesn't count: `{{ {'a': {}} }}`. */
  private readExpression(endType: TokenType, endMark: string, begin: number): void {
    const { source } = this;
    const open: string[] = [];
    for (;;) {
      this.skipSpace();
      if (this.position >= source.length) return;
      if (open.length === 0 && this.readEnd(endType, endMark)) return;
      this.readToken(open, begin);
    }
  }

  private readEnd(type: TokenType, mark: string): boolean {
    const { source, position } = this;
    const sign = source.charAt(position);
    const signed = (sign === '-' || (sign === '+' && mark === '%}')) && source.startsWith(mark, position + 1);
    if (!signed && !source.startsWith(mark, position)) return false;
    this.push(type, '', position);
    this.position += signed ? 3 : 2;
    if (signed && sign === '-') this.skipSpace();
    return true;
  }

  private readToken(open: string[], begin: number): void {
    const { source, position } = this;
    const code = source.charCodeAt(position);
    if (code >= 48 && code <= 57) {
      const float = matchAt(FLOAT, source, position);
      this.take(float === undefined ? 'integer' : 'float', float ?? matchAt(INTEGER, source, position) ?? '');
    } else if (code === 39 || code === 34) {
      this.readString(code);
    } else {
      const name = matchAt(NAME, source, position);
      if (name !== undefined) this.take('name', name);
      else this.readOperator(open, begin);
    }
  }

  private take(type: TokenType, text: string): void {
    this.push(type, text, this.position);
    this.position += text.length;
  }

  private readString(quote: number): void {
    const { source, position } = this;
    let end = position + 1;
    while (end < source.length && source.charCodeAt(end) !== quote)
      end += source.charCodeAt(end) === 92 ? 2 : 1;
    if (end >= source.length) {
      throw syntaxFault(
        `unexpected char ${JSON.stringify(source.charAt(position))}`,
        position,
        'the string is not closed',
      );
    }
    this.push('string', unescapeString(source.slice(position + 1, end), position + 1), position);
    this.position = end + 1;
  }

  private readOperator(open: string[], begin: number): void {
    const { source, position } = this;
    const operator = operatorAt(source, position);
    if (operator === undefined) {
      const char = String.fromCodePoint(source.codePointAt(position) ?? 0);
      throw syntaxFault(`unexpected char ${JSON.stringify(char)}`, position, characterHint(source, position));
    }
    this.balance(operator, open, begin);
    this.take(operator, operator);
  }

  private balance(operator: Operator, open: string[], begin: number): void {
    const closing = CLOSING[operator];
    if (closing !== undefined) open.push(closing);
    else if (operator === ')' || operator === ']' || operator === '}') {
      const expected = open.pop();
      if (expected === undefined) {
        const close = this.source.charAt(begin + 1) === '{' ? '}}' : '%}';
        const hint = operator === '}' ? `close it with ${close}` : undefined;
        throw syntaxFault(`unexpected '${operator}'`, Math.max(begin, this.position), hint);
      }
      if (expected !== operator)
        throw syntaxFault(`unexpected '${operator}', expected '${expected}'`, this.position);
    }
  }
}

function operatorAt(source: string, position: number): Operator | undefined {
  return (
    OPERATORS_BY_TEXT.get(source.slice(position, position + 2)) ??
    OPERATORS_BY_TEXT.get(source.charAt(position))
  );
}

function matchAt(pattern: RegExp, source: string, position: number): string | undefined {
  pattern.lastIndex = position;
  return pattern.exec(source)?.[0];
}
