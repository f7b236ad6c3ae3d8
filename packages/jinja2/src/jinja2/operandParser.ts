import { parseFloatText, parseInteger } from '../values/numbers.js';
import { toFloat, type Value } from '../values/value.js';
import type { Arguments, Call, Expression, FilterCall } from './ast.js';
import type { TokenStream } from './tokenStream.js';
import { describeToken, type TokenType } from './tokens.js';

/** Names that are values and can't be assigned to. */
export const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** Maximum length of left-associative chains (`a + b + …`, `a.b.c…`): each link is one level of evaluation. */
const MAX_CHAIN = 500;

const NO_ARGUMENTS: Arguments = { positional: [], named: [], spread: undefined, namedSpread: undefined };

export interface TupleOptions {
  /** Whether `x if y` is allowed, as it isn't in `{% for a in b if c %}`. */
  readonly conditional?: boolean;
  /** A name that ends the tuple, besides the end of the tag or bracket. */
  readonly endName?: string;
  /** Whether `()` is a tuple here. */
  readonly parenthesized?: boolean;
}

/** Parses operands: literals, names, and their suffixes (attributes, calls, filters, tests). */
export abstract class OperandParser {
  constructor(protected readonly stream: TokenStream) {}

  abstract parseExpression(): Expression;

  abstract parseTuple(options?: TupleOptions): Expression;

  protected parsePrimary(): Expression {
    const { stream } = this;
    const token = stream.current;
    const { offset } = token;
    stream.count();
    switch (token.type) {
      case 'name': {
        stream.next();
        const constant = CONSTANTS.get(token.value);
        return constant === undefined
          ? { kind: 'name', name: token.value, offset }
          : { kind: 'constant', value: constant, offset };
      }
      case 'string':
        return { kind: 'constant', value: this.parseStrings(), offset };
      case 'integer':
      case 'float':
        stream.next();
        return { kind: 'constant', value: this.numberValue(token.type, token.value), offset };
      case '(': {
        stream.next();
        const inner = stream.nested(() => this.parseTuple({ parenthesized: true }));
        stream.expect(')');
        return inner;
      }
      case '[':
        return this.parseList();
      case '{':
        return this.parseDict();
      default:
        throw stream.fail(`unexpected '${describeToken(token)}'`, offset);
    }
  }

  /** Adjacent string literals are concatenated. */
  private parseStrings(): string {
    const parts: string[] = [];
    while (this.stream.is('string')) parts.push(this.stream.next().value);
    return parts.join('');
  }

  private numberValue(type: 'integer' | 'float', digits: string): Value {
    if (type === 'float') return toFloat(parseFloatText(digits) ?? NaN);
    const value = parseInteger(digits, 0);
    if (value === undefined) throw this.stream.limit('the number has too many digits');
    return value;
  }

  private parseList(): Expression {
    const { stream } = this;
    const { offset } = stream.expect('[');
    return { kind: 'list', items: this.parseUntil(']', () => this.parseExpression()), offset };
  }

  private parseDict(): Expression {
    const { stream } = this;
    const { offset } = stream.expect('{');
    const entries = this.parseUntil('}', (): [Expression, Expression] => {
      const key = this.parseExpression();
      stream.expect(':');
      return [key, this.parseExpression()];
    });
    return { kind: 'dict', entries, offset };
  }

  /** Items with commas between them, and perhaps after the last one. */
  private parseUntil<T>(end: TokenType, parse: () => T): T[] {
    const { stream } = this;
    const items: T[] = [];
    while (!stream.is(end)) {
      if (items.length > 0) stream.expect(',');
      if (!stream.is(end)) items.push(parse());
    }
    stream.expect(end);
    return items;
  }

  protected parsePostfix(start: Expression): Expression {
    let node = start;
    for (let links = 1; ; links++) {
      this.checkChain(links);
      if (this.stream.is('.')) node = this.parseDot(node);
      else if (this.stream.is('[')) node = this.parseSubscript(node);
      else if (this.stream.is('(')) node = this.parseCall(node);
      else return node;
    }
  }

  protected parseFiltersAndTests(start: Expression): Expression {
    let node = start;
    for (let links = 1; ; links++) {
      this.checkChain(links);
      if (this.stream.is('|')) node = this.parseFilter(node);
      else if (this.stream.isName('is')) node = this.parseTest(node);
      else if (this.stream.is('(')) node = this.parseCall(node);
      else return node;
    }
  }

  private parseDot(target: Expression): Expression {
    const { stream } = this;
    stream.count();
    const { offset } = stream.expect('.');
    const token = stream.next();
    if (token.type === 'name') return { kind: 'attribute', target, name: token.value, offset };
    if (token.type !== 'integer') throw stream.fail('expected name or number', token.offset);
    const key: Expression = {
      kind: 'constant',
      value: this.numberValue('integer', token.value),
      offset: token.offset,
    };
    return { kind: 'item', target, key, offset };
  }

  private parseSubscript(target: Expression): Expression {
    const { stream } = this;
    stream.count();
    const { offset } = stream.expect('[');
    const keys: Expression[] = [];
    while (!stream.is(']')) {
      if (keys.length > 0) stream.expect(',');
      keys.push(this.parseSubscripted(target, offset));
    }
    stream.expect(']');
    const [only] = keys;
    if (keys.length !== 1 || only === undefined) {
      return { kind: 'item', target, key: { kind: 'tuple', items: keys, offset }, offset };
    }
    return only.kind === 'slice' && only.target === target
      ? only
      : { kind: 'item', target, key: only, offset };
  }

  /** An index, or a slice `start:stop:step` of the target. */
  private parseSubscripted(target: Expression, offset: number): Expression {
    const { stream } = this;
    const start = stream.is(':') ? undefined : this.parseExpression();
    if (!stream.is(':')) return start ?? this.parseExpression();
    stream.next();
    const stop = this.parseSliceBound();
    const step = stream.skipIf(':') ? this.parseSliceBound() : undefined;
    return { kind: 'slice', target, start, stop, step, offset };
  }

  private parseSliceBound(): Expression | undefined {
    const { stream } = this;
    return stream.is(':') || stream.is(']') || stream.is(',') ? undefined : this.parseExpression();
  }

  private parseCall(callee: Expression): Call {
    this.stream.count();
    const { offset } = this.stream.current;
    return { kind: 'call', callee, ...this.parseArguments(), offset };
  }

  private parseArguments(): Arguments {
    const { stream } = this;
    const { offset } = stream.expect('(');
    const positional: Expression[] = [];
    const named: { name: string; value: Expression }[] = [];
    let spread: Expression | undefined;
    let namedSpread: Expression | undefined;
    const ensure = (valid: boolean) => {
      if (!valid) throw stream.fail('invalid syntax for function call expression', offset);
    };
    for (let first = true; !stream.is(')'); first = false) {
      if (!first) {
        stream.expect(',');
        if (stream.is(')')) break;
      }
      if (stream.skipIf('*')) {
        ensure(spread === undefined && namedSpread === undefined);
        spread = this.parseExpression();
      } else if (stream.skipIf('**')) {
        ensure(namedSpread === undefined);
        namedSpread = this.parseExpression();
      } else if (stream.is('name') && stream.following.type === '=') {
        ensure(namedSpread === undefined);
        const name = stream.next().value;
        stream.next();
        named.push({ name, value: this.parseExpression() });
      } else {
        ensure(spread === undefined && namedSpread === undefined && named.length === 0);
        positional.push(this.parseExpression());
      }
    }
    stream.expect(')');
    return { positional, named, spread, namedSpread };
  }

  /** `| name(…)`, after an input. */
  private parseFilter(input: Expression): FilterCall {
    this.stream.expect('|');
    return this.parseFilterName(input);
  }

  private parseFilterName(input: Expression | undefined): FilterCall {
    this.stream.count();
    const { offset } = this.stream.current;
    const name = this.parseDottedName();
    const args = this.stream.is('(') ? this.parseArguments() : NO_ARGUMENTS;
    return { kind: 'filter', name, input, ...args, offset };
  }

  /** The filters of `{% filter a | b %}`: the innermost has no input of its own. */
  parseFilterChain(): FilterCall {
    let node = this.parseFilterName(undefined);
    for (let links = 1; this.stream.skipIf('|'); links++) {
      this.checkChain(links);
      node = this.parseFilterName(node);
    }
    return node;
  }

  private parseDottedName(): string {
    let name = this.stream.expect('name').value;
    while (this.stream.skipIf('.')) name += `.${this.stream.expect('name').value}`;
    return name;
  }

  private parseTest(input: Expression): Expression {
    const { stream } = this;
    stream.count();
    const { offset } = stream.expectName('is');
    const negated = stream.skipName('not');
    const name = this.parseDottedName();
    const test: Expression = { kind: 'test', name, input, ...this.parseTestArguments(), offset };
    return negated ? { kind: 'unary', operator: 'not', operand: test, offset } : test;
  }

  /** In parentheses, or a single operand without: `x is divisibleby 3`. */
  private parseTestArguments(): Arguments {
    const { stream } = this;
    if (stream.is('(')) return this.parseArguments();
    const startsOperand = (['name', 'string', 'integer', 'float', '[', '{'] as const).some((type) =>
      stream.is(type),
    );
    if (!startsOperand || stream.isName('else', 'or', 'and')) return NO_ARGUMENTS;
    if (stream.isName('is')) throw stream.fail('You cannot chain multiple tests with is');
    return { ...NO_ARGUMENTS, positional: [this.parsePostfix(this.parsePrimary())] };
  }

  /** Counts a link of a chain of operators against its limit. */
  protected checkChain(links: number): void {
    this.stream.count();
    if (links > MAX_CHAIN)
      throw this.stream.limit(`the expression is too long (limit ${MAX_CHAIN} operators in a row)`);
  }
}
