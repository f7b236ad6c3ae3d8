import { ownValue } from '../../../foundation/ownValue.js';
import { errorAt, type Position } from './errors.js';
import { tokenize } from './lexer.js';
import { FILTER_LIMITS } from './limits.js';
import { LiteralBuilder } from './literalBuilder.js';
import { RESERVED } from './reserved.js';
import { shapeOf } from './shape.js';
import { TokenReader } from './tokenReader.js';
import type { ArithmeticOperator, CompareOperator, FilterNode, ListItem, Literal } from './tree.js';

/** A parsed expression. Expressions of equal shape have trees that are equal except for positions, and compile to equal SQL. */
export interface ParsedFilter {
  readonly tree: FilterNode;
  /** Values lifted out of the text, in source order: what `Inputs.literals` holds for this filter. */
  readonly literals: readonly Literal[];
  readonly shape: string;
  /** Nodes of the tree. */
  readonly parts: number;
}

/**
 * Parses a filter expression. Every row passes a blank one.
 *
 * Operators, loosest first, as in PostgreSQL: OR · AND · NOT · IS · comparisons (they don't chain) ·
 * IN, LIKE, BETWEEN · `& | # << >> ~` · `+ -` · `* / %` · `^` (from the left) · unary `-`.
 *
 * @throws AppError FILTER_SYNTAX with offset, line and column; FILTER_TOO_COMPLEX
 */
export function parseFilter(text: string): ParsedFilter {
  const parser = new Parser(new TokenReader(tokenize(text, FILTER_LIMITS)));
  const tree = parser.whole();
  return { tree, literals: parser.literals.literals, shape: shapeOf(tree), parts: parser.nodes };
}

const COMPARISONS: Readonly<Record<string, CompareOperator>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '>': '>',
  '<=': '<=',
  '>=': '>=',
};

/** Binary operators, loosest first. All are left-associative. */
const ARITHMETIC: readonly (readonly ArithmeticOperator[])[] = [
  ['&', '|', '#', '<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
  ['^'],
];

/** Operators of other languages, for the hint. */
const FOREIGN: Readonly<Record<string, string>> = {
  '==': 'Write a single = to compare.',
  '&&': 'Write AND.',
  '||': 'Write OR, or concat(a, b) to join texts.',
};

/** `Omit` that distributes over unions. */
type Parts<T> = T extends unknown ? Omit<T, 'at'> : never;

class Parser {
  readonly literals = new LiteralBuilder();
  nodes = 0;
  #nesting = 0;
  /** Depths are tracked per node, since flat chains like `1 + 1 + 1` are deep trees. */
  readonly #depths = new WeakMap<FilterNode, number>();

  constructor(private readonly reader: TokenReader) {}

  whole(): FilterNode {
    const { reader } = this;
    if (reader.isAtEnd()) return { kind: 'everything', at: reader.current.at };
    const tree = this.#expression();
    if (!reader.isAtEnd()) {
      reader.fail('Expected an operator or the end', ownValue(FOREIGN, reader.current.text));
    }
    return tree;
  }

  #expression(): FilterNode {
    return this.#nested(() => this.#chain('or', () => this.#chain('and', () => this.#not())));
  }

  #chain(kind: 'and' | 'or', next: () => FilterNode): FilterNode {
    const { at } = this.reader.current;
    const items = [next()];
    while (this.reader.acceptWord(kind)) items.push(next());
    return items.length === 1 && items[0] ? items[0] : this.#node({ kind, items }, at, items);
  }

  #not(): FilterNode {
    const { at } = this.reader.current;
    if (!this.reader.acceptWord('not')) return this.#is();
    return this.#nested(() => {
      const operand = this.#not();
      return this.#node({ kind: 'not', operand }, at, [operand]);
    });
  }

  #is(): FilterNode {
    const { reader } = this;
    let operand = this.#comparison();
    for (;;) {
      const { at } = reader.current;
      if (!reader.acceptWord('is')) return operand;
      const negated = reader.acceptWord('not');
      if (reader.acceptWord('distinct')) {
        reader.expectWord('from');
        const right = this.#comparison();
        operand = this.#node({ kind: 'distinct', negated, left: operand, right }, at, [operand, right]);
      } else {
        const test = (['null', 'true', 'false'] as const).find((word) => reader.acceptWord(word));
        if (!test) return reader.fail('Expected NULL, TRUE, FALSE or DISTINCT FROM after IS');
        operand = this.#node({ kind: 'is', negated, test, operand }, at, [operand]);
      }
    }
  }

  #comparison(): FilterNode {
    const left = this.#range();
    const { kind, text, at } = this.reader.current;
    const operator = kind === 'symbol' ? ownValue(COMPARISONS, text) : undefined;
    if (!operator) return left;
    this.reader.advance();
    const right = this.#range();
    const after = this.reader.current;
    if (after.kind === 'symbol' && ownValue(COMPARISONS, after.text)) {
      this.reader.fail('Comparisons do not chain', 'Write a < b AND b < c, or use parentheses.');
    }
    return this.#node({ kind: 'compare', operator, left, right }, at, [left, right]);
  }

  #range(): FilterNode {
    const { reader } = this;
    const left = this.#arithmetic(0);
    const { at } = reader.current;
    const negated = reader.isWord('not');
    const word = (negated ? reader.following : reader.current).text.toLowerCase();
    if ((negated ? reader.following : reader.current).kind !== 'name') return left;
    if (word !== 'in' && word !== 'like' && word !== 'ilike' && word !== 'between') return left;
    if (negated) reader.advance();
    reader.advance();
    if (word === 'in') {
      const right = reader.isSymbol('(') ? this.#list('(', ')') : this.#arithmetic(0);
      return this.#node({ kind: 'in', negated, left, right }, at, [left, right]);
    }
    if (word === 'between') {
      const low = this.#arithmetic(0);
      reader.expectWord('and');
      const high = this.#arithmetic(0);
      return this.#node({ kind: 'between', negated, value: left, low, high }, at, [left, low, high]);
    }
    const pattern = this.#arithmetic(0);
    return this.#node({ kind: 'like', negated, caseless: word === 'ilike', left, pattern }, at, [
      left,
      pattern,
    ]);
  }

  #arithmetic(level: number): FilterNode {
    const operators = ARITHMETIC[level];
    if (!operators) return this.#sign();
    let left = this.#arithmetic(level + 1);
    for (;;) {
      const { at } = this.reader.current;
      const operator = operators.find((symbol) => this.reader.acceptSymbol(symbol));
      if (!operator) return left;
      const right = this.#arithmetic(level + 1);
      left = this.#node({ kind: 'arithmetic', operator, left, right }, at, [left, right]);
    }
  }

  #sign(): FilterNode {
    const { reader } = this;
    const { at } = reader.current;
    if (reader.acceptSymbol('+')) return this.#nested(() => this.#sign());
    if (reader.acceptSymbol('~')) {
      // As in PostgreSQL, ~ is looser than arithmetic: ~ 5 + 3 is ~ (5 + 3).
      return this.#nested(() => {
        const operand = this.#arithmetic(1);
        return this.#node({ kind: 'sign', operator: '~', operand }, at, [operand]);
      });
    }
    if (!reader.acceptSymbol('-')) return this.#primary();
    if (reader.current.kind === 'number') {
      const { index, size } = this.literals.number(at, `-${reader.advance().text}`);
      return this.#node({ kind: 'number', index, size }, at);
    }
    return this.#nested(() => {
      const operand = this.#sign();
      return this.#node({ kind: 'sign', operator: '-', operand }, at, [operand]);
    });
  }

  #primary(): FilterNode {
    const { reader } = this;
    const { kind, text, at } = reader.current;
    if (kind === 'number') {
      reader.advance();
      return this.#node({ kind: 'number', ...this.literals.number(at, text) }, at);
    }
    if (kind === 'text') {
      reader.advance();
      return this.#node({ kind: 'text', ...this.literals.text(at, text) }, at);
    }
    if (kind === 'principal') return this.#principal();
    if (kind === 'quoted') return this.#path();
    if (kind === 'name') return this.#word();
    if (reader.isSymbol('[')) return this.#list('[', ']');
    if (reader.acceptSymbol('(')) {
      const inner = this.#expression();
      reader.expectSymbol(')');
      return inner;
    }
    return reader.fail('Expected a value, a column or a function', ownValue(FOREIGN, text));
  }

  #word(): FilterNode {
    const { reader } = this;
    const { text, at } = reader.current;
    const word = text.toLowerCase();
    if (word === 'true' || word === 'false') {
      reader.advance();
      return this.#node({ kind: 'boolean', value: word === 'true' }, at);
    }
    if (word === 'null') {
      reader.advance();
      return this.#node({ kind: 'null' }, at);
    }
    if (RESERVED.has(word)) {
      const hint =
        word === 'not'
          ? 'Put NOT and what it denies in parentheses.'
          : `A column with this name is written \`${text}\`, in backticks.`;
      reader.fail('Expected a value, a column or a function', hint);
    }
    return reader.isSymbol('(', reader.following) ? this.#call() : this.#path();
  }

  #call(): FilterNode {
    const { reader } = this;
    const { text, at } = reader.advance();
    const name = text.toLowerCase();
    reader.expectSymbol('(');
    if (name === 'count' && reader.acceptSymbol('*')) {
      reader.expectSymbol(')');
      return this.#node({ kind: 'call', name, star: true, args: [] }, at);
    }
    const args: FilterNode[] = [];
    if (!reader.acceptSymbol(')')) {
      do args.push(this.#expression());
      while (reader.acceptSymbol(','));
      reader.expectSymbol(')');
    }
    return this.#node({ kind: 'call', name, star: false, args }, at, args);
  }

  #path(): FilterNode {
    const { reader } = this;
    const { text, at } = reader.advance();
    const names = [text];
    while (reader.acceptSymbol('.')) {
      if (!reader.isName()) reader.fail('Expected a column or a relation after the dot');
      names.push(reader.advance().text);
    }
    if (names.length > FILTER_LIMITS.pathHops + 1) {
      throw errorAt('FILTER_TOO_COMPLEX', `A path has more than ${FILTER_LIMITS.pathHops} relations`, at);
    }
    return this.#node({ kind: 'path', names }, at);
  }

  #principal(): FilterNode {
    const { reader } = this;
    const { at } = reader.advance();
    const hint = 'Write $_PRINCIPAL.roleid, tenantid, parentid, classes, capabilities or children.';
    if (!reader.acceptSymbol('.')) reader.fail('Expected a dot after $_PRINCIPAL', hint);
    if (reader.current.kind !== 'name') reader.fail('Expected a name after the dot', hint);
    return this.#node({ kind: 'principal', field: reader.advance().text }, at);
  }

  #list(open: '(' | '[', close: ')' | ']'): FilterNode {
    const { reader } = this;
    const { at } = reader.current;
    reader.expectSymbol(open);
    const start = reader.mark();
    const literals = this.#literalItems(close, at);
    if (literals) return this.#node({ kind: 'literals', ...this.literals.list(at, literals) }, at);
    reader.rewind(start);
    const items: FilterNode[] = [];
    do items.push(this.#expression());
    while (reader.acceptSymbol(','));
    reader.expectSymbol(close);
    return this.#node({ kind: 'list', items }, at, items);
  }

  /** The rest of a list if it consists of literals only. */
  #literalItems(close: ')' | ']', at: Position): ListItem[] | undefined {
    const { reader } = this;
    const items: ListItem[] = [];
    if (reader.acceptSymbol(close)) return items;
    do {
      const item = this.#literalItem();
      if (!item) return undefined;
      items.push(item);
      if (items.length > FILTER_LIMITS.listItems) {
        throw errorAt('FILTER_TOO_COMPLEX', `A list has more than ${FILTER_LIMITS.listItems} items`, at);
      }
    } while (reader.acceptSymbol(','));
    return reader.acceptSymbol(close) ? items : undefined;
  }

  #literalItem(): ListItem | undefined {
    const { reader } = this;
    const { kind, text, at } = reader.current;
    if (reader.isSymbol('-') && reader.following.kind === 'number') {
      reader.advance();
      return { kind: 'number', at, text: `-${reader.advance().text}` };
    }
    if (kind === 'number' || kind === 'text') {
      reader.advance();
      return { kind, at, text };
    }
    if (reader.acceptWord('null')) return { kind: 'null', at };
    if (reader.acceptWord('true')) return { kind: 'boolean', at, value: true };
    if (reader.acceptWord('false')) return { kind: 'boolean', at, value: false };
    return undefined;
  }

  #nested<T>(parse: () => T): T {
    if (++this.#nesting > FILTER_LIMITS.depth) this.#tooDeep(this.reader.current.at);
    const result = parse();
    this.#nesting--;
    return result;
  }

  #node(parts: Parts<FilterNode>, at: Position, children: readonly FilterNode[] = []): FilterNode {
    if (++this.nodes > FILTER_LIMITS.nodes) {
      throw errorAt('FILTER_TOO_COMPLEX', `The expression has more than ${FILTER_LIMITS.nodes} parts`, at);
    }
    const node: FilterNode = { ...parts, at };
    const depth = 1 + Math.max(0, ...children.map((child) => this.#depths.get(child) ?? 0));
    if (depth > FILTER_LIMITS.depth) this.#tooDeep(at);
    this.#depths.set(node, depth);
    return node;
  }

  #tooDeep(at: Position): never {
    throw errorAt('FILTER_TOO_COMPLEX', `The expression is nested more than ${FILTER_LIMITS.depth} deep`, at);
  }
}
