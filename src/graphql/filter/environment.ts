import type { ColumnType } from '../../db/catalog/catalog.js';
import type { Sql } from '../../db/sql/sql.js';
import type { ReadExtent } from './rows/readExtent.js';
import type { PathScope, Row, StatementScope } from './rows/scope.js';
import type {
  BooleanNode,
  FilterNode,
  ListNode,
  Literal,
  LiteralListNode,
  NullNode,
  NumberNode,
  TextNode,
} from './syntax/tree.js';

/** A compiled value. */
export interface Value {
  readonly is: 'value';
  readonly sql: Sql;
  readonly type: ColumnType;
  /** `indexed`: the leading column of an index. `constant`: the same for every row. */
  readonly operand: 'indexed' | 'constant' | 'computed';
  readonly reads: ReadExtent;
  /** How long it may be, in lengths of the row's longest value; by default it is short. */
  readonly copies?: number;
  /** Whether it is a column's value as it is, or a number of any size. */
  readonly isStored?: boolean;
}

/** An operand: a value, or a literal that takes the type of the other operand. */
export type Operand =
  | Value
  | { readonly is: 'literal'; readonly node: NumberNode | TextNode | BooleanNode | NullNode }
  | { readonly is: 'literals'; readonly node: LiteralListNode }
  | { readonly is: 'list'; readonly node: ListNode };

/** A compiled condition. */
export interface Condition {
  readonly sql: Sql;
  /**
   * An index may serve it, and its operators are leakproof: they can't fail, and their timing doesn't depend on the value.
   * So PostgreSQL may evaluate it on rows before the policy.
   */
  readonly indexable: boolean;
  readonly reads: ReadExtent;
}

/**
 * What evaluating an expression for one row may take, counted while it is compiled, in multiples of the row's longest value.
 * PostgreSQL frees memory only after each row, and can't cancel a search.
 */
export interface Effort {
  /** Copies of the value. */
  copies: number;
  /** Comparisons of characters for each of its characters. */
  steps: number;
}

/** Where a path is resolved. */
export interface Place {
  /** Related tables joined by the expression so far. */
  readonly joins: { count: number };
  readonly scope: PathScope;
  readonly root: Root;
  /** Current rows by the dotted path that leads to them; the root's own under ''. */
  readonly rows: ReadonlyMap<string, Row>;
}

/** The context in which a node is compiled. */
export interface Environment extends Place {
  readonly scope: StatementScope;
  readonly literals: readonly Literal[];
  readonly insideAggregate?: boolean;
  /** Of the expression so far. */
  readonly effort: Effort;
  /** Maximum bytes of a stored value; undefined if none is too long for the expression. */
  readonly longest?: number;
  /** The two compilers, which are mutually recursive. */
  readonly compileOperand: (node: FilterNode, environment: Environment) => Operand;
  /** With `truth`, the SQL may be false where it should be null. */
  readonly compileCondition: (
    node: FilterNode,
    environment: Environment,
    want: 'truth' | 'value',
  ) => Condition;
}

/** What the first name of a path refers to: a column or relation of one row, or the record `new` or `old`. */
type Root = 'row' | 'records';
