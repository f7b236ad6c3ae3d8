import { join, sql, type Sql } from '../../db/sql/sql.js';
import type { Table } from '../../db/catalog/catalog.js';
import type { ReadContext } from '../read/readContext.js';
import { readable } from '../read/rowsSql.js';
import { comparedSql, matches, tableSql } from '../read/tableSql.js';
import type { Step, SubqueryColumn } from './subquery.js';

/** A table joined with the rows of its to-one relations, as FROM items; hidden rows count as absent. */
export class GroupedRows {
  readonly alias: Sql;
  readonly #joins: Sql[] = [];
  readonly #aliases = new Map<string, Sql>();

  constructor(
    private readonly context: ReadContext,
    private readonly table: Table,
  ) {
    this.alias = context.aliases.next();
  }

  /** The column's value; joins its relations on first use. @throws AppError PERMISSION_DENIED */
  valueOf({ path, column }: SubqueryColumn): Sql {
    let alias = this.alias;
    for (const step of path) alias = this.#aliases.get(step.names) ?? this.#join(alias, step);
    return comparedSql(alias, column);
  }

  /** The FROM items. @param rows a page of the table's rows, to be used instead of the table */
  from(rows?: Sql): Sql {
    return join([sql`${rows ? sql`(${rows})` : tableSql(this.table)} ${this.alias}`, ...this.#joins], ' ');
  }

  #join(here: Sql, { relation, target, names }: Step): Sql {
    const there = this.context.aliases.next();
    this.#aliases.set(names, there);
    const visible = readable(this.context, target, there);
    const related = matches(here, relation.pairs, there);
    const condition = visible === 'all' ? related : sql`${related} and (${visible})`;
    this.#joins.push(sql`left join ${tableSql(target)} ${there} on ${condition}`);
    return there;
  }
}
