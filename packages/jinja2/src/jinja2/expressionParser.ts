import type { BinaryOperator } from '../values/operators.js';
import type { CompareOperator, Expression, Target } from './ast.js';
import { CONSTANTS, OperandParser, type TupleOptions } from './operandParser.js';
import { describeToken, type TokenType } from './tokens.js';

/** Operators of one precedence level, by token. */
const SUM: Readonly<Partial<Record<TokenType, BinaryOperator>>> = { '+': '+', '-': '-' };
const PRODUCT: Readonly<Partial<Record<TokenType, BinaryOperator>>> = {
  '*': '*',
  '/': '/',
  '//': '//',
  '%': '%',
};
const POWER: Readonly<Partial<Record<TokenType, BinaryOperator>>> = { '**': '**' };

const COMPARISONS: Readonly<Partial<Record<TokenType, CompareOperator>>> = {
  '==': '==',
  '!=': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

/** Parses Jinja2's expressions, from the loosest operator to the tightest. */
export class ExpressionParser extends OperandParser {
  /** An expression, or a tuple of several separated by commas. */
  override parseTuple(options: TupleOptions = {}): Expression {
    const parse = options.conditional === false ? () => this.parseOr() : () => this.parseExpression();
    return this.parseOneOrTuple(parse, options);
  }

  private parseOneOrTuple<T>(
    parse: () => T,
    { endName, parenthesized = false }: TupleOptions,
  ): T | { kind: 'tuple'; items: T[]; offset: number } {
    const { offset } = this.stream.current;
    const { items, isTuple } = this.parseItems(parse, endName);
    const [first] = items;
    if (!isTuple && first !== undefined) return first;
    if (!isTuple && !parenthesized) {
      throw this.stream.fail(`Expected an expression, got '${describeToken(this.stream.current)}'`);
    }
    return { kind: 'tuple', items, offset };
  }

  private parseItems<T>(parse: () => T, endName?: string): { items: T[]; isTuple: boolean } {
    const items: T[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) this.stream.expect(',');
      if (this.isTupleEnd(endName)) break;
      items.push(parse());
      if (!this.stream.is(',')) break;
      isTuple = true;
    }
    return { items, isTuple };
  }

  private isTupleEnd(endName?: string): boolean {
    const { stream } = this;
    return (
      stream.is('variable_end') ||
      stream.is('block_end') ||
      stream.is(')') ||
      (endName !== undefined && stream.isName(endName))
    );
  }

  /** Assignment target of `for` and `with`: a name, or a tuple of names. */
  parseTarget(options: TupleOptions = {}): Target {
    return this.parseOneOrTuple(() => this.parseSingleTarget(), options);
  }

  /** Assignment target of `set`, which may also be an attribute of a namespace. */
  parseSetTarget(): Target {
    const parse = (): Target =>
      this.stream.following.type === '.' ? this.parseNamespaceTarget() : this.parseSingleTarget();
    return this.parseOneOrTuple(parse, {});
  }

  private parseSingleTarget(): Target {
    const { stream } = this;
    if (stream.skipIf('(')) {
      const inner = stream.nested(() =>
        this.parseOneOrTuple(() => this.parseSingleTarget(), { parenthesized: true }),
      );
      stream.expect(')');
      return inner;
    }
    if (!stream.is('name')) throw stream.fail(`can't assign to '${describeToken(stream.current)}'`);
    return this.parseNameTarget();
  }

  private parseNamespaceTarget(): Target {
    const { name, offset } = this.parseNameTarget();
    this.stream.expect('.');
    return { kind: 'namespace', name, attribute: this.stream.expect('name').value, offset };
  }

  /** An assignable name. */
  parseNameTarget(): Target & { kind: 'name' } {
    const token = this.stream.expect('name');
    if (CONSTANTS.has(token.value)) throw this.stream.fail("can't assign to 'const'", token.offset);
    return { kind: 'name', name: token.value, offset: token.offset };
  }

  override parseExpression(): Expression {
    return this.stream.nested(() => this.parseConditional());
  }

  private parseConditional(): Expression {
    const { stream } = this;
    const { offset } = stream.current;
    let result = this.parseOr();
    for (let links = 1; stream.skipName('if'); links++) {
      this.checkChain(links);
      const test = this.parseOr();
      const otherwise = stream.skipName('else') ? this.parseExpression() : undefined;
      result = { kind: 'conditional', test, then: result, otherwise, offset };
    }
    return result;
  }

  parseOr(): Expression {
    return this.parseLogical('or', () => this.parseLogical('and', () => this.parseNot()));
  }

  private parseLogical(operator: 'or' | 'and', parseOperand: () => Expression): Expression {
    let left = parseOperand();
    for (let links = 1; this.stream.isName(operator); links++) {
      this.checkChain(links);
      const { offset } = this.stream.next();
      left = { kind: 'logical', operator, left, right: parseOperand(), offset };
    }
    return left;
  }

  private parseNot(): Expression {
    if (!this.stream.isName('not')) return this.parseCompare();
    const { offset } = this.stream.next();
    const operand = this.stream.nested(() => this.parseNot());
    return { kind: 'unary', operator: 'not', operand, offset };
  }

  private parseCompare(): Expression {
    const { offset } = this.stream.current;
    const first = this.parseSum();
    const rest: { operator: CompareOperator; operand: Expression }[] = [];
    for (let operator = this.comparison(); operator !== undefined; operator = this.comparison()) {
      rest.push({ operator, operand: this.parseSum() });
    }
    return rest.length === 0 ? first : { kind: 'compare', first, rest, offset };
  }

  /** Takes a comparison operator, if one is next. */
  private comparison(): CompareOperator | undefined {
    const { stream } = this;
    const operator = COMPARISONS[stream.current.type];
    if (operator !== undefined) {
      stream.next();
      return operator;
    }
    if (stream.skipName('in')) return 'in';
    if (!stream.isName('not') || stream.following.type !== 'name' || stream.following.value !== 'in')
      return undefined;
    stream.next();
    stream.next();
    return 'not in';
  }

  private parseSum(): Expression {
    return this.parseBinary(SUM, () => this.parseConcat());
  }

  private parseConcat(): Expression {
    const { offset } = this.stream.current;
    const first = this.parseProduct();
    if (!this.stream.is('~')) return first;
    const parts = [first];
    while (this.stream.skipIf('~')) parts.push(this.parseProduct());
    return { kind: 'concat', parts, offset };
  }

  private parseProduct(): Expression {
    return this.parseBinary(PRODUCT, () => this.parseBinary(POWER, () => this.parseUnary(true)));
  }

  private parseBinary(
    operators: Readonly<Partial<Record<TokenType, BinaryOperator>>>,
    parseOperand: () => Expression,
  ): Expression {
    let left = parseOperand();
    for (let links = 1; ; links++) {
      const operator = operators[this.stream.current.type];
      if (operator === undefined) return left;
      this.checkChain(links);
      const { offset } = this.stream.next();
      left = { kind: 'binary', operator, left, right: parseOperand(), offset };
    }
  }

  private parseUnary(withFilter: boolean): Expression {
    const { stream } = this;
    const { type, offset } = stream.current;
    let node: Expression;
    if (type === '-' || type === '+') {
      stream.next();
      node = { kind: 'unary', operator: type, operand: stream.nested(() => this.parseUnary(false)), offset };
    } else {
      node = this.parsePrimary();
    }
    node = this.parsePostfix(node);
    return withFilter ? this.parseFiltersAndTests(node) : node;
  }
}
