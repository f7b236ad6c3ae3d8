import { errorAt } from './errors.js';
import type { Token } from './lexer.js';

/** A cursor over the tokens of an expression. Keywords are case-insensitive. */
export class TokenReader {
  #index = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  get current(): Token {
    return this.#at(this.#index);
  }

  get following(): Token {
    return this.#at(this.#index + 1);
  }

  advance(): Token {
    const token = this.current;
    if (token.kind !== 'end') this.#index++;
    return token;
  }

  /** The current position, for `rewind`. */
  mark(): number {
    return this.#index;
  }

  rewind(mark: number): void {
    this.#index = mark;
  }

  isAtEnd(): boolean {
    return this.current.kind === 'end';
  }

  isName(): boolean {
    return this.current.kind === 'name' || this.current.kind === 'quoted';
  }

  isWord(word: string): boolean {
    return this.current.kind === 'name' && this.current.text.toLowerCase() === word;
  }

  isSymbol(symbol: string, token: Token = this.current): boolean {
    return token.kind === 'symbol' && token.text === symbol;
  }

  acceptWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.advance();
    return true;
  }

  acceptSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.advance();
    return true;
  }

  expectWord(word: string): void {
    if (!this.acceptWord(word)) this.fail(`Expected ${word.toUpperCase()}`);
  }

  expectSymbol(symbol: string): void {
    if (!this.acceptSymbol(symbol)) this.fail(`Expected "${symbol}"`);
  }

  /** @throws AppError FILTER_SYNTAX at the current token. */
  fail(expectation: string, hint?: string): never {
    const { kind, text, at } = this.current;
    const found = kind === 'end' ? 'the end of the expression' : JSON.stringify(text.slice(0, 40));
    throw errorAt('FILTER_SYNTAX', `${expectation}, found ${found}`, at, hint);
  }

  #at(index: number): Token {
    const token = this.tokens[Math.min(index, this.tokens.length - 1)];
    if (!token) throw new Error('a token list ends with an end token');
    return token;
  }
}
