import type { TemplateLimits } from '../limits.js';
import { Fault } from '../errors.js';
import type { Tokens } from './lexer.js';
import { endHint, tokenHint } from './hints.js';
import { syntaxFault } from './syntaxFault.js';
import { describeToken, describeType } from './tokens.js';
import type { Token, TokenType } from './tokens.js';

/** Counts the nodes and tokens of the templates that are compiled together. */
export interface NodeCount {
  nodes: number;
  tokens: number;
}

/** The parser's token cursor, and the limits on the tree it builds. */
export class TokenStream {
  private index = 0;
  private depth = 0;
  private readonly tokens: readonly Token[];

  constructor(
    private readonly source: Tokens,
    private readonly limits: TemplateLimits,
    private readonly nodeCount: NodeCount,
  ) {
    this.tokens = source.tokens;
    nodeCount.tokens += source.tokens.length;
  }

  get current(): Token {
    return this.at(this.index);
  }

  /** The token after the current one. */
  get following(): Token {
    return this.at(this.index + 1);
  }

  private at(index: number): Token {
    return this.tokens[index] ?? this.end();
  }

  /** `eof` stands for everything after the end. @throws Fault for a token that can't be read */
  private end(): Token {
    if (this.source.fault) throw this.source.fault;
    const eof = this.tokens.at(-1);
    if (eof === undefined) throw new Error('a token stream ends with eof');
    return eof;
  }

  next(): Token {
    const token = this.current;
    this.index++;
    return token;
  }

  is(type: TokenType): boolean {
    return this.current.type === type;
  }

  isName(...names: readonly string[]): boolean {
    return this.current.type === 'name' && names.includes(this.current.value);
  }

  skipIf(type: TokenType): boolean {
    if (!this.is(type)) return false;
    this.index++;
    return true;
  }

  skipName(name: string): boolean {
    if (!this.isName(name)) return false;
    this.index++;
    return true;
  }

  /** @param hint instead of the usual one */
  expect(type: TokenType, hint?: string): Token {
    if (!this.is(type)) throw this.unexpected(describeType(type), hint);
    return this.next();
  }

  expectName(name: string): Token {
    if (!this.isName(name)) throw this.unexpected(name);
    return this.next();
  }

  private unexpected(expected: string, hint?: string): Fault {
    const { current } = this;
    if (current.type === 'eof') {
      return syntaxFault(
        `unexpected end of template, expected '${expected}'.`,
        current.offset,
        endHint(expected),
      );
    }
    const message = `expected token '${expected}', got '${describeToken(current)}'`;
    return syntaxFault(message, current.offset, hint ?? tokenHint(expected, current));
  }

  fail(message: string, offset = this.current.offset, hint?: string): Fault {
    return syntaxFault(message, offset, hint);
  }

  /** Counts a node of the tree. */
  count(): void {
    if (++this.nodeCount.nodes > this.limits.nodes) {
      throw this.limit(`the template has too many parts (limit ${this.limits.nodes})`);
    }
  }

  /** Parses something nested, within the limit on nesting. */
  nested<T>(parse: () => T): T {
    if (++this.depth > this.limits.nesting) {
      throw this.limit(`the template nests too deeply (limit ${this.limits.nesting})`);
    }
    const result = parse();
    this.depth--;
    return result;
  }

  limit(message: string): Fault {
    const fault = new Fault('limit', message);
    fault.offset = this.current.offset;
    return fault;
  }
}
