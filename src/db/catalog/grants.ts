import type { Pool } from 'pg';
import type { StatementRunner } from '../sql/statementRunner.js';
import { formatted, join, statement, textConstant, type Sql, type SqlText } from '../sql/sql.js';

interface MissingGrant {
  readonly name: string;
  readonly owner: string;
  /** The statement that grants it. */
  readonly grant: SqlText;
}

/**
 * Grants the tenant's role its privileges on the relations of its schema on which it has none, so that tables of other owners
 * are served like its own.
 * @returns messages for the tenant's administrator about what could not be granted
 */
export async function grantMissing(pool: Pool, schema: string, role: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { name, owner, grant } of await missingGrants(pool, schema, role)) {
    try {
      await pool.query(grant);
    } catch {
      problems.push(`${name} belongs to ${owner}, who must run: ${grant}`);
    }
  }
  return problems;
}

/**
 * The role's privileges on relations of the schema that nobody has granted it yet; none for a tenant that is being handed over.
 * A relation on which it has some, or on columns of which, is left as its owner wants it: what is lacking there was revoked.
 * Objects of extensions are not served.
 */
export async function missingGrants(
  runner: StatementRunner,
  schema: string,
  role: string,
): Promise<readonly MissingGrant[]> {
  const { rows } = await runner.query(lackingSql(textConstant(schema), textConstant(role)));
  return (rows as readonly (MissingGrant & { readonly grant: string })[]).map((row) => ({
    ...row,
    // eslint-disable-next-line rowpost/static-sql -- PostgreSQL has built it
    grant: formatted(row.grant),
  }));
}

/** The role's insert, update and delete privileges on tables of the schema, by SQL name. */
export async function heldWrites(
  runner: StatementRunner,
  schema: string,
  role: string,
  tables: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await runner.query(
    heldSql(textConstant(schema), textConstant(role), join(tables.map(textConstant))),
  );
  return new Map((rows as readonly HeldRow[]).map(({ name, held }) => [name, held]));
}

interface HeldRow {
  readonly name: string;
  readonly held: readonly string[];
}

const heldSql = (schema: Sql, role: Sql, names: Sql): SqlText => statement`
select c.relname::text as name, array(
  select p from unnest(array['insert', 'update', 'delete']) p
  where case p when 'delete' then has_table_privilege(to_regrole(quote_ident(${role}))::oid, c.oid, p)
    else has_any_column_privilege(to_regrole(quote_ident(${role}))::oid, c.oid, p) end
) as held
from pg_catalog.pg_class c
where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = ${schema}) and c.relname::text in (${names})`;

const lackingSql = (schema: Sql, role: Sql): SqlText => statement`
select c.relname as name, pg_catalog.pg_get_userbyid(c.relowner) as owner,
  format('grant %s on %s %I.%I to %I', l.lacking, case c.relkind when 'S' then 'sequence' else 'table' end,
    ${schema}, c.relname, ${role}) as grant
from pg_catalog.pg_class c, lateral (
  select string_agg(p, ', ') as lacking from unnest(
    case c.relkind when 'S' then array['usage'] when 'v' then array['select'] when 'm' then array['select']
      else array['select', 'insert', 'update', 'delete'] end) p
  where not case c.relkind
    when 'S' then has_sequence_privilege(to_regrole(quote_ident(${role}))::oid, c.oid, p)
    else has_table_privilege(to_regrole(quote_ident(${role}))::oid, c.oid, p) end
) l
where not exists (select from rowpost.tenant held where held.schema = ${schema} and held.moved_to is not null)
  and c.oid in (select d.objid from pg_catalog.pg_depend d
    where d.refclassid = 'pg_catalog.pg_namespace'::regclass
      and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = ${schema})
      and d.classid = 'pg_catalog.pg_class'::regclass)
  and c.relkind in ('r', 'p', 'f', 'v', 'm', 'S') and l.lacking is not null
  and not exists (select from aclexplode(c.relacl) a where a.grantee = to_regrole(quote_ident(${role}))::oid)
  and not exists (select from pg_catalog.pg_attribute n, aclexplode(n.attacl) a
    where n.attrelid = c.oid and n.attacl is not null and a.grantee = to_regrole(quote_ident(${role}))::oid)
  and not exists (select from pg_catalog.pg_depend e
    where e.classid = 'pg_catalog.pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
order by c.relname`;
