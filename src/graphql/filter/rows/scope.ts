import { identifier, type Sql } from '../../../db/sql/sql.js';
import type { ReadExtent } from './readExtent.js';
import type { CallNode } from '../syntax/tree.js';
import type { Catalog, Table } from '../../../db/catalog/catalog.js';

/** Which rows of a table the principal may read. */
export interface RowAccess {
  /**
   * The predicate over a row of `table` under `alias`; `all` if every row is visible. `none` if the table may not be read
   * at all: an expression that needs it fails with PERMISSION_DENIED.
   */
  readonly predicate: (table: Table, alias: Sql) => Predicate | 'all' | 'none';
  /** Whether the predicate is known to be `none` without compiling anything. */
  readonly denies?: (table: Table) => boolean;
}

/** A condition that decides who may reach a row. */
export interface Predicate extends Sql {
  /** What evaluating it reads; by default only the row. */
  readonly reads?: ReadExtent;
}

/** Generates aliases that are unique within a statement. */
export interface AliasSource {
  readonly next: () => Sql;
}

export function createAliasSource(): AliasSource {
  let count = 0;
  return { next: () => identifier(`f${count++}`) };
}

/** What paths are resolved with. */
export interface PathScope {
  readonly catalog: Catalog;
  readonly access: RowAccess;
  readonly aliases: AliasSource;
}

/** What all expressions of one statement share. */
export interface StatementScope extends PathScope {
  /**
   * The variable that holds the expression and thus its literals, which differ from run to run. Undefined if the literals
   * belong to the plan, as a policy rule's do: they are checked at compile time and bound on every run.
   */
  readonly filterVariable: string | undefined;
  /** A policy rule's: no caller may learn its literals. */
  readonly isRule?: true;
  /** For rows that are aggregate results: the column that a call such as `sum(total)` refers to. */
  readonly aggregateColumn?: (node: CallNode) => string | undefined;
}

/** The scope of an expression over the rows of a table. */
export interface FilterScope extends StatementScope {
  readonly table: Table;
  /** The SQL alias of the row. */
  readonly alias: Sql;
  /** Policies besides the row's own, such as that of a join table leading to it. */
  readonly policies?: readonly Predicate[];
}

/** A current row: column names are resolved in `table` and read from `alias`. */
export interface Row {
  readonly table: Table;
  readonly alias: Sql;
}
