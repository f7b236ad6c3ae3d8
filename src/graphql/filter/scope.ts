import { identifier, type Sql } from '../../db/sql.js';
import type { Reads } from './reads.js';
import type { CallNode } from './tree.js';
import type { Catalog, Table } from '../../db/catalog/catalog.js';

/** Which rows of a table the principal may read. */
export interface RowAccess {
  /**
   * The predicate over a row of `table` under `alias`; `all` when every row is visible. `none` when the table may not
   * be read at all: an expression that needs it is refused with PERMISSION_DENIED.
   */
  readonly predicate: (table: Table, alias: Sql) => Predicate | 'all' | 'none';
  /** Whether it is certain, without compiling anything, that the predicate would be `none`. */
  readonly denies?: (table: Table) => boolean;
}

/** A condition that decides who may reach a row. */
export interface Predicate extends Sql {
  /** What must be read to evaluate it; the row alone when not given. */
  readonly reads?: Reads;
}

/** Generates unique aliases, so that expressions of one statement never collide. */
export interface AliasSource {
  readonly next: () => Sql;
}

export function createAliasSource(prefix = 'f'): AliasSource {
  let count = 0;
  return { next: () => identifier(`${prefix}${count++}`) };
}

/** What paths are looked up with. */
export interface PathScope {
  readonly catalog: Catalog;
  readonly access: RowAccess;
  readonly aliases: AliasSource;
}

/** What all expressions of one statement share. */
export interface StatementScope extends PathScope {
  /**
   * The variable that holds the expression, whose literals each run brings along. Undefined when they belong to the plan, as
   * those of a policy rule do: those given at compile time are then checked at once, and bound on every run.
   */
  readonly filterVariable: string | undefined;
  /** Where rows are results of an aggregate: the column that a call such as `sum(total)` stands for. */
  readonly aggregateColumn?: (node: CallNode) => string | undefined;
}

/** Where an expression over the rows of a table stands. */
export interface FilterScope extends StatementScope {
  readonly table: Table;
  /** The SQL alias of the row. */
  readonly alias: Sql;
  /** What decides, besides the row's own policy, whether the role may know of it: of a join table on the way to it. */
  readonly policies?: readonly Predicate[];
}

/** The current row: column names are resolved in `table` and read from `alias`. */
export interface Row {
  readonly table: Table;
  readonly alias: Sql;
}
