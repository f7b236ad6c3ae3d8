import type { Column, ToOne } from '../../db/catalog/catalog.js';
import { identifier, join, sql, type Sql } from '../../db/sql.js';
import { tableSql } from '../read/rowsSql.js';
import { tableNamed } from '../read/readContext.js';
import { refuse, type WriteContext } from './writeContext.js';
import { writtenAlias, type WrittenRows } from './writtenRow.js';

/**
 * Gives `value` unless the row now refers to one that a policy hides. That is refused like a reference to no row, and
 * before PostgreSQL checks it, so that the answer tells the two apart as little as a query does. Tables that the role may
 * not read at all can be referred to, or it could write nothing that belongs to them.
 */
export function withReferences(
  context: WriteContext,
  { row: written }: WrittenRows,
  statement: readonly WrittenRows[],
  value: Sql,
): Sql {
  const { table, given = [] } = written;
  return [...table.relations.values()].reduce((inner, relation) => {
    if (relation.kind !== 'to-one' || !setsReference(relation, given)) return inner;
    const target = tableNamed(context.catalog, relation.target);
    const alias = identifier('parent');
    const visible = context.access.predicate(target, alias);
    if (visible === 'all' || visible === 'none') return inner;
    const row = writtenAlias(written);
    const here = relation.pairs.map((pair) => sql`${row}.${identifier(pair.here)}`);
    const ties = relation.pairs.map(
      (pair) => sql`${alias}.${identifier(pair.there)} = ${row}.${identifier(pair.here)}`,
    );
    const allowed = [
      ...here.map((column) => sql`${column} is null`),
      ...unchanged(written, relation),
      sql`exists (select from ${tableSql(target)} ${alias} where ${join([...ties, sql`(${visible})`], ' and ')})`,
      ...(target === table ? statement.map((item) => amongWritten(item, relation, here)) : []),
    ];
    const columns = relation.pairs.map((pair) => pair.here).join(', ');
    return sql`case when ${join(allowed, ' or ')} then ${inner} else ${refuse('noReference', columns)} end`;
  }, value);
}

function setsReference(relation: ToOne, given: readonly Column[]): boolean {
  return relation.pairs.some((pair) => given.some((column) => column.sqlName === pair.here));
}

/** The row's previous reference is known to exist. */
function unchanged({ old, oldColumns = old, changed }: WrittenRows['row'], { pairs }: ToOne): Sql[] {
  if (!oldColumns || !changed) return [];
  const same = pairs.map(
    ({ here }) => sql`${changed}.${identifier(here)} = ${oldColumns}.${identifier(here)}`,
  );
  return [sql`(${join(same, ' and ')})`];
}

/** A statement does not see its own rows: those that refer to each other are looked up among what it wrote. */
function amongWritten({ from, row }: WrittenRows, { pairs }: ToOne, here: readonly Sql[]): Sql {
  const there = pairs.map((pair) => sql`${writtenAlias(row)}.${identifier(pair.there)}`);
  return sql`(${join(here, ', ')}) in (select ${join(there, ', ')} from ${from})`;
}
