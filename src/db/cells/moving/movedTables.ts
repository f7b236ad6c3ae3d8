import type { StatementRunner } from '../../sql/statementRunner.js';
import { identifier, sql, statement, textConstant, type Sql, type SqlText } from '../../sql/sql.js';

/** A table of a tenant's schema whose rows move. Partitions move with the table they belong to. */
export interface MovedTable {
  readonly name: string;
  /** A FROM item: without the rows of tables that inherit from it. */
  readonly from: Sql;
  /** SQL names of the columns that rows are inserted with. */
  readonly columns: readonly string[];
  /** Of the primary key; none for a table without one. */
  readonly key: readonly string[];
}

export async function listTables(runner: StatementRunner, schema: string): Promise<readonly MovedTable[]> {
  const { rows } = await runner.query(tablesSql(schema));
  return (rows as readonly (Omit<MovedTable, 'from'> & { readonly partitioned: boolean })[]).map(
    ({ partitioned, ...table }) => ({
      ...table,
      from: partitioned ? identifier(schema, table.name) : sql`only ${identifier(schema, table.name)}`,
    }),
  );
}

const tablesSql = (schema: string): SqlText => statement`
  select c.relname::text as name, c.relkind = 'p' as partitioned,
    array(select a.attname::text from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
    array(select a.attname::text from pg_catalog.pg_index i
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey::int2[])
      where i.indrelid = c.oid and i.indisprimary order by a.attnum) as key
  from pg_catalog.pg_class c
  where c.relnamespace = ${oidOf(schema)} and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`;

const oidOf = (schema: string): Sql =>
  sql`(select oid from pg_catalog.pg_namespace where nspname = ${textConstant(schema)}::name)`;
const roleOf = (role: string): Sql =>
  sql`(select oid from pg_catalog.pg_roles where rolname = ${textConstant(role)}::name)`;

/** @returns roles besides the tenant's and the service's that may change its tables: a fence does not stop them */
export async function otherWriters(
  runner: StatementRunner,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select distinct case g.grantee when 0 then 'PUBLIC' else pg_catalog.pg_get_userbyid(g.grantee)::text end as name
    from pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) g
    where c.relnamespace = ${oidOf(schema)} and c.relkind in ('r', 'p', 'v')
      and g.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
      and g.grantee not in (${roleOf(role)}, current_user::regrole::oid)
    order by 1`);
  return (rows as readonly { readonly name: string }[]).map(({ name }) => name);
}

/** @returns tables, views and sequences of the schema that another role owns: the tenant's role can't read them, nor a fence lock them */
export async function ownedByOthers(
  runner: StatementRunner,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select format('%I (of %s)', c.relname, pg_catalog.pg_get_userbyid(c.relowner)) as name
    from pg_catalog.pg_class c
    where c.relnamespace = ${oidOf(schema)} and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and c.relowner <> ${roleOf(role)}
    order by c.relname`);
  return (rows as readonly { readonly name: string }[]).map(({ name }) => name);
}
