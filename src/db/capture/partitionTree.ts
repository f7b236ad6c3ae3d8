import { sql, type Sql } from '../sql/sql.js';

/**
 * A FROM item with the `oid` of a table and of all its partitions, at any depth, read as far as rows are asked for. The function
 * pg_partition_tree takes time with the square of the depth, 15 s for 4,000.
 */
export function partitionTree(table: Sql): Sql {
  return sql`(
    with recursive tree(oid) as (
      select ${table}
      union
      select i.inhrelid from tree cross join lateral (
        select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = tree.oid and not i.inhdetachpending
          and (select c.relispartition from pg_catalog.pg_class c where c.oid = i.inhrelid) offset 0
      ) i
    )
    select oid from tree
  )`;
}
