import { missingGrants } from '../catalog/grants.js';
import { readCaptureStates, triggersToDrop } from '../capture/captureTriggers.js';
import { attempt } from '../pool/inTransaction.js';
import { withLockTimeout, withoutLockWait } from '../pool/withLockTimeout.js';
import { readRoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { ensureTenantRole } from '../isolation/tenantRoles.js';
import { formatted, sql, statement, textConstant, type Sql, type SqlText } from '../sql/sql.js';
import { INSUFFICIENT_PRIVILEGE, sqlState } from '../sql/sqlState.js';
import { AppError } from '../../foundation/errors.js';
import { isReservedSchema } from './tenantStorage.js';

/** A schema with another owner, and the tenant that it is served as. */
export interface AdoptedSchema {
  readonly tenantid: number;
  readonly schema: string;
}

/** Throws AppError BAD_USER_INPUT for a schema that does not exist, or belongs to PostgreSQL or the service. */
export async function checkAdoptable(runner: StatementRunner, schema: string): Promise<void> {
  const isReserved = isReservedSchema(schema);
  // As a text: longer names would be shortened, to that of another schema.
  const { rows } = await runner.query(
    statement`select from pg_catalog.pg_namespace where nspname::text = ${textConstant(schema)}`,
  );
  if (!isReserved && rows.length > 0) return;
  throw new AppError('BAD_USER_INPUT', `"${schema}" can't be adopted.`, {
    hint: isReserved
      ? 'It belongs to PostgreSQL or to Rowpost.'
      : 'The database has no such schema; "rowpost tenant create" makes one.',
    details: { field: 'schema' },
  });
}

/**
 * Creates the tenant's role and grants it what the service may grant on the schema. Run in a transaction; safe to
 * repeat. Throws AppError BAD_USER_INPUT as `checkAdoptable`, TRANSACTION_CONFLICT if a table is being changed.
 * @returns the statements that the owners have to run
 */
export async function grantSchema(
  runner: StatementRunner,
  adopted: AdoptedSchema,
): Promise<readonly string[]> {
  await checkAdoptable(runner, adopted.schema);
  const names = await readRoleNames(runner);
  await ensureTenantRole(runner, names, adopted.tenantid);
  const statements = await statementsToAdopt(runner, adopted);
  await withoutLockWait(runner, async () => {
    await runAllowed(runner, statements);
  });
  return statementsToAdopt(runner, adopted);
}

/** The missing grants, as statements for those who may run them. */
export async function statementsToAdopt(
  runner: StatementRunner,
  { tenantid, schema }: AdoptedSchema,
): Promise<readonly SqlText[]> {
  const role = (await readRoleNames(runner)).tenant(tenantid);
  const { rows } = await runner.query(statement`
    with ${schemaAndOwners(schema, role)}
    select format('grant connect on database %I to %I', current_database(), role) as text from schema
    where not has_database_privilege(role, current_database(), 'connect')
    union all
    select format('grant usage on schema %I to %I', nspname, role) from schema
    where not has_schema_privilege(role, oid, 'usage')
    union all
    select format('alter default privileges for role %I in schema %I grant %s to %I', o.name, s.nspname, k.rights, s.role)
    from schema s, owner o, kind k
    where not exists (select from pg_catalog.pg_default_acl d, aclexplode(d.defaclacl) a
      where d.defaclrole = to_regrole(quote_ident(o.name)) and d.defaclnamespace = s.oid and d.defaclobjtype = k.type
        and a.grantee = to_regrole(quote_ident(s.role)))`);
  const grants = await missingGrants(runner, schema, role);
  return [...statementsIn(rows), ...grants.map(({ grant }) => grant)];
}

function statementsIn(rows: readonly object[]): readonly SqlText[] {
  // eslint-disable-next-line rowpost/static-sql -- PostgreSQL has built it
  return (rows as readonly { readonly text: string }[]).map(({ text }) => formatted(text));
}

/**
 * Revokes the role's grants, and removes its triggers from captured tables, which stay locked until the end of the
 * transaction: run it last. Throws AppError PERMISSION_DENIED with what the owners have to run, TRANSACTION_CONFLICT if a
 * table is in use all the time.
 */
export async function releaseSchema(runner: StatementRunner, adopted: AdoptedSchema): Promise<void> {
  const statements = await statementsToRelease(runner, adopted);
  await withLockTimeout(runner, async () => {
    await runAllowed(runner, statements);
  });
  const left = await statementsToRelease(runner, adopted);
  if (left.length === 0) return;
  throw new AppError(
    'PERMISSION_DENIED',
    `The owners of "${adopted.schema}" have to run ${left.length} statements first.`,
    {
      hint: 'See them with "rowpost tenant release --print-sql", or make the service a member of these roles.',
    },
  );
}

/** The statements that undo an adoption, also where the schema was renamed or its tables were moved to others since. */
export async function statementsToRelease(
  runner: StatementRunner,
  { tenantid, schema }: AdoptedSchema,
): Promise<readonly SqlText[]> {
  const role = (await readRoleNames(runner)).tenant(tenantid);
  const reached = sql`reached as materialized (${reachedSchemas(tenantid, schema, role)})`;
  const { rows: schemas } = await runner.query(
    statement`with ${reached} select nspname::text as name from reached`,
  );
  const triggers: SqlText[] = [];
  for (const { name } of schemas as readonly { readonly name: string }[]) {
    const captured = await readCaptureStates(runner, { tenantid, schema: name });
    triggers.push(...captured.flatMap(({ parts }) => parts.flatMap(triggersToDrop)));
  }
  const { rows } = await runner.query(statement`
    with ${reached}
    select format('revoke all on database %I from %I', datname, ${textConstant(role)}) as text
    from pg_catalog.pg_database
    where datname = current_database() and not pg_has_role(datdba, 'usage')
      and exists (select from aclexplode(datacl) a where a.grantee = ${oidOf(role)})
    union all
    select format('revoke all on schema %I from %I', nspname, ${textConstant(role)}) from reached
    where exists (select from aclexplode(nspacl) a where a.grantee = ${oidOf(role)})
    union all
    select format('revoke all on %s %I.%I from %I', case c.relkind when 'S' then 'sequence' else 'table' end,
      s.nspname, c.relname, ${textConstant(role)})
    from reached s join pg_catalog.pg_class c on c.relnamespace = s.oid
    where exists (select from aclexplode(c.relacl) a where a.grantee = ${oidOf(role)})
      or exists (select from pg_catalog.pg_attribute n, aclexplode(n.attacl) a
        where n.attrelid = c.oid and n.attacl is not null and a.grantee = ${oidOf(role)})
    union all
    select format('alter default privileges for role %I in schema %I revoke all on %s from %I', pg_get_userbyid(d.defaclrole),
      s.nspname, case d.defaclobjtype when 'S' then 'sequences' else 'tables' end, ${textConstant(role)})
    from reached s join pg_catalog.pg_default_acl d on d.defaclnamespace = s.oid
    where exists (select from aclexplode(d.defaclacl) a where a.grantee = ${oidOf(role)})`);
  return [...triggers, ...statementsIn(rows)];
}

function oidOf(role: string): Sql {
  return sql`(select oid from pg_catalog.pg_roles where rolname = ${textConstant(role)}::name)`;
}

/** The adopted schema, and those with anything that is granted to the role; neither Rowpost's own nor other tenants'. */
function reachedSchemas(tenantid: number, schema: string, role: string): Sql {
  return sql`
    select n.oid, n.nspname, n.nspacl from pg_catalog.pg_namespace n
    where (n.nspname = ${textConstant(schema)}::name or n.oid in (
        select coalesce(c.relnamespace, d.defaclnamespace, g.objid) from pg_catalog.pg_shdepend g
          left join pg_catalog.pg_class c on g.classid = 'pg_catalog.pg_class'::regclass and c.oid = g.objid
          left join pg_catalog.pg_default_acl d on g.classid = 'pg_catalog.pg_default_acl'::regclass and d.oid = g.objid
        where g.refclassid = 'pg_catalog.pg_authid'::regclass and g.refobjid = ${oidOf(role)}
          and g.deptype = 'a' and g.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
          and g.classid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_default_acl'::regclass,
            'pg_catalog.pg_namespace'::regclass)))
      and n.nspname not in ('rowpost', 'rowpost_tenant')
      and not exists (select from rowpost.tenant t where t.schema = n.nspname::text and t.tenantid <> ${tenantid})`;
}

/** Messages for the owners of a schema. */
export async function adoptionWarnings(runner: StatementRunner, schema: string): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select format('%s is granted to PUBLIC: the roles of all tenants reach it', c.relname) as message
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${textConstant(schema)}::name and c.relkind in ('r', 'p', 'v', 'm', 'f') and ${isNoExtension('pg_class', sql`c.oid`)}
      and exists (select from aclexplode(c.relacl) a where a.grantee = 0)
    union all
    select format('%s runs as its owner (security definer), and every role may call it, those of all tenants too', p.oid::regprocedure)
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname = ${textConstant(schema)}::name and p.prosecdef and ${isNoExtension('pg_proc', sql`p.oid`)}
      and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
    union all
    select format('every role may make objects in it, those of all tenants too: revoke create on schema %I from public', n.nspname)
    from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
    where n.nspname = ${textConstant(schema)}::name and a.grantee = 0 and a.privilege_type = 'CREATE'
    union all
    select format('the event trigger %I runs %s as whoever changes a schema, Rowpost too, and it belongs to %I: give it to a superuser',
      e.evtname, p.oid::regprocedure, r.rolname)
    from pg_catalog.pg_event_trigger e join pg_catalog.pg_proc p on p.oid = e.evtfoid
      join pg_catalog.pg_roles r on r.oid = p.proowner
    where e.evtenabled <> 'D' and not r.rolsuper
    order by 1`);
  return rows.map((row) => (row as { message: string }).message);
}

function schemaAndOwners(schema: string, role: string): Sql {
  return sql`schema as materialized (
      select oid, nspname, nspowner, nspacl, ${textConstant(role)}::text as role from pg_catalog.pg_namespace where nspname = ${textConstant(schema)}::name
    ), owner as materialized (
      select distinct pg_get_userbyid(case when o.oid = 'pg_database_owner'::regrole then d.datdba else o.oid end) as name
      from (select nspowner from schema union select c.relowner from pg_catalog.pg_class c join schema s on c.relnamespace = s.oid
        where c.relkind in ('r', 'p') and ${isNoExtension('pg_class', sql`c.oid`)}) o(oid), pg_catalog.pg_database d
      where d.datname = current_database()
    ), kind(type, rights) as (
      values ('r'::"char", 'select, insert, update, delete on tables'), ('S', 'usage on sequences')
    )`;
}

function isNoExtension(catalog: string, oid: Sql): Sql {
  return sql`not exists (select from pg_catalog.pg_depend e
    where e.classid = ${textConstant(`pg_catalog.${catalog}`)}::regclass and e.objid = ${oid} and e.deptype = 'e')`;
}

/** Skips what the service may not do. */
async function runAllowed(runner: StatementRunner, grants: readonly SqlText[]): Promise<void> {
  const isDenied = (error: unknown): boolean => sqlState(error) === INSUFFICIENT_PRIVILEGE;
  for (const grant of grants) await attempt(runner, () => runner.query(grant), isDenied);
}
