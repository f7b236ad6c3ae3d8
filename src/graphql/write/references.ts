import type { Column, ToOne } from '../../db/catalog/catalog.js';
import { equal } from '../../db/catalog/operators.js';
import { empty, identifier, join, sql, type Sql } from '../../db/sql/sql.js';
import { matches, tableSql } from '../read/tableSql.js';
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
    const allowed = [
      ...relation.pairs.map((pair) => sql`${row}.${identifier(pair.here)} is null`),
      ...unchanged(written, relation),
      sql`exists (select from ${tableSql(target)} ${alias} where ${matches(row, relation.pairs, alias)} and (${visible}))`,
      ...(target === table ? statement.map((item) => amongWritten(item, relation, row)) : []),
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
  const same = pairs.map(({ here, type }) =>
    equal(sql`${changed}.${identifier(here)}`, sql`${oldColumns}.${identifier(here)}`, type),
  );
  return [sql`(${join(same, ' and ')})`];
}

/** A statement can't see its own writes, so references between new rows are looked up among the rows it wrote. */
function amongWritten({ from, row }: WrittenRows, { pairs }: ToOne, referring: Sql): Sql {
  const here = pairs.map((pair) => sql`${referring}.${identifier(pair.here)}`);
  const there = join(pairs.map((pair) => sql`${writtenAlias(row)}.${identifier(pair.there)}`));
  if (pairs.every(({ type }) => type === undefined))
    return sql`(${join(here)}) operator(pg_catalog.=) any (select ${there} from ${from})`;
  const names = pairs.map((_, index) => identifier(`c${index}`));
  const same = pairs.map(({ type }, index) =>
    equal(here[index] ?? empty, sql`keys.${names[index] ?? empty}`, type),
  );
  return sql`exists (select from (select ${there} from ${from}) keys(${join(names)}) where ${join(same, ' and ')})`;
}
