import type { StatementRunner } from '../../sql/statementRunner.js';
import { sql, statement, textConstant, type Sql } from '../../sql/sql.js';

/** @returns the names of a schema's tables. Partitions belong to their table. */
export async function listTables(runner: StatementRunner, schema: string): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select c.relname::text as name from pg_catalog.pg_class c
    where c.relnamespace = ${oidOf(schema)} and c.relkind in ('r', 'p') and not c.relispartition order by c.relname`);
  return (rows as readonly { readonly name: string }[]).map(({ name }) => name);
}

/** @returns the bytes that a schema's tables and indexes take, in PostgreSQL's files */
export async function measureTables(runner: StatementRunner, schema: string): Promise<number> {
  const { rows } = await runner.query(statement`
    select coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::float8 as bytes from pg_catalog.pg_class c
    where c.relnamespace = ${oidOf(schema)} and c.relkind in ('r', 'm')`);
  return (rows as readonly { readonly bytes: number }[])[0]?.bytes ?? 0;
}

const oidOf = (schema: string): Sql =>
  sql`(select oid from pg_catalog.pg_namespace where nspname = ${textConstant(schema)}::name)`;
const roleOf = (role: string): Sql =>
  sql`(select oid from pg_catalog.pg_roles where rolname = ${textConstant(role)}::name)`;

/** @returns roles besides the tenant's and the service's that may change its tables: after the hold, nothing would stop them */
export async function otherWriters(
  runner: StatementRunner,
  { schema, role }: { readonly schema: string; readonly role: string },
): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select distinct case g.grantee when 0 then 'PUBLIC' else pg_catalog.pg_get_userbyid(g.grantee)::text end as name
    from pg_catalog.pg_class c, lateral (
      select * from pg_catalog.aclexplode(c.relacl)
      union all
      -- On single columns.
      select e.* from pg_catalog.pg_attribute a, pg_catalog.aclexplode(a.attacl) e where a.attrelid = c.oid
    ) g
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
