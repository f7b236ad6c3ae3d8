import type { ColumnType } from '../../db/catalog/catalog.js';
import type { Sql } from '../../db/sql.js';
import type { Reads } from './reads.js';
import type { PathScope, Row, StatementScope } from './scope.js';
import type {
  BooleanNode,
  FilterNode,
  ListNode,
  Literal,
  LiteralListNode,
  NullNode,
  NumberNode,
  TextNode,
} from './tree.js';

/** A compiled value. */
export interface Value {
  readonly is: 'value';
  readonly sql: Sql;
  readonly type: ColumnType;
  /** A column that an index begins with, or what is the same for every row; all else is computed from the row. */
  readonly operand: 'indexed' | 'constant' | 'computed';
  readonly reads: Reads;
}

/** A side of an operator: a value, or a literal that takes the type of the other side. */
export type Operand =
  | Value
  | { readonly is: 'literal'; readonly node: NumberNode | TextNode | BooleanNode | NullNode }
  | { readonly is: 'literals'; readonly node: LiteralListNode }
  | { readonly is: 'list'; readonly node: ListNode };

/** A compiled condition. */
export interface Condition {
  readonly sql: Sql;
  /**
   * An index may answer it, and its operators are leakproof: they can't fail, and take no time that depends on the
   * value. PostgreSQL may try it on rows before it knows whether the role may read them.
   */
  readonly indexable: boolean;
  readonly reads: Reads;
}

/** Where a path starts. */
export interface Place {
  /** Related tables that the expression has brought in so far. */
  readonly joins: { count: number };
  readonly scope: PathScope;
  readonly root: Root;
  /** Current rows by the path that leads to them, names joined by dots; the root's own under ''. */
  readonly rows: ReadonlyMap<string, Row>;
}

/** Where a node is compiled. */
export interface Environment extends Place {
  readonly scope: StatementScope;
  readonly literals: readonly Literal[];
  readonly insideAggregate?: boolean;
  /** The two compilers that need each other. */
  readonly compileOperand: (node: FilterNode, environment: Environment) => Operand;
  /** With `truth`, SQL may be false where it should be null: only rows for which it is true count. */
  readonly compileCondition: (
    node: FilterNode,
    environment: Environment,
    want: 'truth' | 'value',
  ) => Condition;
}

/** What the first name of a path means: a column or relation of one row, or the record `new` or `old`. */
type Root = { readonly kind: 'row' } | { readonly kind: 'records' };
