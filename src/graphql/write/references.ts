import type { Column, ToOne } from '../../db/catalog/catalog.js';
import { identifier, join, sql, type Sql } from '../../db/sql.js';
import { matches, tableSql } from '../read/rowsSql.js';
import { tableNamed } from '../read/readContext.js';
import { refuse, type WriteContext } from './writeContext.js';
import { writtenAlias, type WrittenRows } from './writtenRow.js';

/**
 * Evaluates to `value` unless the row now references one that a policy hides. That fails like a dangling reference, and
 * before PostgreSQL checks the foreign key, so that callers can't tell the two apart. Tables that the role may not read at
 * all can be referenced; otherwise it could not write rows that belong to them.
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
    const allowed = [
      ...here.map((column) => sql`${column} is null`),
      ...unchanged(written, relation),
      sql`exists (select from ${tableSql(target)} ${alias} where ${matches(row, relation.pairs, alias)} and (${visible}))`,
      ...(target === table ? statement.map((item) => amongWritten(item, relation, here)) : []),
    ];
    const columns = relation.pairs.map((pair) => pair.here).join(', ');
    return sql`case when ${join(allowed, ' or ')} then ${inner} else ${refuse('noReference', columns)} end`;
  }, value);
}

function setsReference(relation: ToOne, given: readonly Column[]): boolean {
  return relation.pairs.some((pair) => given.some((column) => column.sqlName === pair.here));
}

/** An unchanged reference needs no check. */
function unchanged({ old, oldColumns = old, changed }: WrittenRows['row'], { pairs }: ToOne): Sql[] {
  if (!oldColumns || !changed) return [];
  const same = pairs.map(
    ({ here }) => sql`${changed}.${identifier(here)} = ${oldColumns}.${identifier(here)}`,
  );
  return [sql`(${join(same, ' and ')})`];
}

/** A statement can't see its own writes, so references between new rows are looked up among the rows it wrote. */
function amongWritten({ from, row }: WrittenRows, { pairs }: ToOne, here: readonly Sql[]): Sql {
  const there = pairs.map((pair) => sql`${writtenAlias(row)}.${identifier(pair.there)}`);
  return sql`(${join(here, ', ')}) in (select ${join(there, ', ')} from ${from})`;
}
