import { missingGrants } from '../catalog/grants.js';
import { readCaptureStates, triggersToDrop } from '../capture/captureTriggers.js';
import { QUEUE_SCHEMA } from '../connection/database.js';
import { givingWay, withoutWaiting } from '../connection/givingWay.js';
import { readRoleNames, type StatementRunner } from '../connection/roleNames.js';
import { ensureTenantRole } from '../connection/tenantRoles.js';
import { formatted, sql, statement, textConstant, type Sql, type SqlText } from '../sql.js';
import { INSUFFICIENT_PRIVILEGE, sqlState } from '../sqlState.js';
import { AppError } from '../../errors.js';

/** A schema with another owner, and the tenant that it is served as. */
export interface AdoptedSchema {
  readonly tenantid: number;
  readonly schema: string;
}

/** Throws AppError BAD_USER_INPUT for a schema that does not exist, or belongs to PostgreSQL or the service. */
export async function checkAdoptable(runner: StatementRunner, schema: string): Promise<void> {
  const isReserved = /^(pg_|rowpost)/i.test(schema) || ['information_schema', QUEUE_SCHEMA].includes(schema);
  const { rows } = await runner.query(
    statement`select from pg_catalog.pg_namespace where nspname = ${textConstant(schema)}`,
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
 * repeat. Throws AppError TRANSACTION_CONFLICT if a table is being changed.
 * @returns the statements that the owners have to run
 */
export async function grantSchema(
  runner: StatementRunner,
  adopted: AdoptedSchema,
): Promise<readonly SqlText[]> {
  const names = await readRoleNames(runner);
  await ensureTenantRole(runner, names, adopted.tenantid);
  const statements = await statementsToAdopt(runner, adopted);
  await withoutWaiting(runner, async () => {
    for (const text of statements) await attempt(runner, text);
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
    select format('grant connect on database %I to %I', current_database(), role) as statement from schema
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
  return [...rows.map(formattedOf), ...grants.map(({ grant }) => grant)];
}

/**
 * Revokes the role's grants, and removes its triggers from captured tables, which stay locked until the end of the
 * transaction: run it last. Throws AppError PERMISSION_DENIED with what the owners have to run, TRANSACTION_CONFLICT if a
 * table is in use all the time.
 */
export async function releaseSchema(runner: StatementRunner, adopted: AdoptedSchema): Promise<void> {
  const statements = await statementsToRelease(runner, adopted);
  await givingWay(runner, async () => {
    for (const text of statements) await attempt(runner, text);
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
    statement`with ${reached} select nspname as name from reached`,
  );
  const triggers: SqlText[] = [];
  for (const { name } of schemas as readonly { readonly name: string }[]) {
    const captured = await readCaptureStates(runner, { tenantid, schema: name });
    triggers.push(...captured.flatMap(({ parts }) => parts.flatMap(triggersToDrop)));
  }
  const { rows } = await runner.query(statement`
    with ${reached}
    select format('revoke all on database %I from %I', datname, ${textConstant(role)}) as statement from pg_catalog.pg_database
    where datname = current_database() and not pg_has_role(datdba, 'usage')
      and exists (select from aclexplode(datacl) a where a.grantee = to_regrole(quote_ident(${textConstant(role)})))
    union all
    select format('revoke all on schema %I from %I', nspname, role) from reached
    where exists (select from aclexplode(nspacl) a where a.grantee = to_regrole(quote_ident(role)))
    union all
    select format('revoke all on %s %I.%I from %I', case c.relkind when 'S' then 'sequence' else 'table' end, s.nspname, c.relname, s.role)
    from reached s join pg_catalog.pg_class c on c.relnamespace = s.oid
    where exists (select from aclexplode(c.relacl) a where a.grantee = to_regrole(quote_ident(s.role)))
    union all
    select format('alter default privileges for role %I in schema %I revoke all on %s from %I',
      pg_get_userbyid(d.defaclrole), s.nspname, case d.defaclobjtype when 'S' then 'sequences' else 'tables' end, s.role)
    from reached s join pg_catalog.pg_default_acl d on d.defaclnamespace = s.oid
    where exists (select from aclexplode(d.defaclacl) a where a.grantee = to_regrole(quote_ident(s.role)))`);
  return [...triggers, ...rows.map(formattedOf)];
}

/** The adopted schema, and those with anything that is granted to the role; neither Rowpost's own nor other tenants'. */
function reachedSchemas(tenantid: number, schema: string, role: string): Sql {
  return sql`
    select n.oid, n.nspname, n.nspacl, ${textConstant(role)}::text as role from pg_catalog.pg_namespace n
    where (n.nspname = ${textConstant(schema)} or n.oid in (
        select coalesce(c.relnamespace, d.defaclnamespace, g.objid) from pg_catalog.pg_shdepend g
          left join pg_catalog.pg_class c on g.classid = 'pg_catalog.pg_class'::regclass and c.oid = g.objid
          left join pg_catalog.pg_default_acl d on g.classid = 'pg_catalog.pg_default_acl'::regclass and d.oid = g.objid
        where g.refclassid = 'pg_catalog.pg_authid'::regclass and g.refobjid = to_regrole(quote_ident(${textConstant(role)}))
          and g.deptype = 'a' and g.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
          and g.classid in ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_default_acl'::regclass,
            'pg_catalog.pg_namespace'::regclass)))
      and n.nspname not in ('rowpost', 'rowpost_tenant')
      and not exists (select from rowpost.tenant t where t.schema = n.nspname and t.tenantid <> ${tenantid})`;
}

/** Messages for the owners of a schema. */
export async function adoptionWarnings(runner: StatementRunner, schema: string): Promise<readonly string[]> {
  const { rows } = await runner.query(statement`
    select format('%s is granted to PUBLIC: the roles of all tenants reach it', c.relname) as statement
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${textConstant(schema)} and c.relkind in ('r', 'p', 'v', 'm', 'f') and ${isNoExtension('pg_class', sql`c.oid`)}
      and exists (select from aclexplode(c.relacl) a where a.grantee = 0)
    union all
    select format('%s runs as its owner (security definer), and every role may call it, those of all tenants too', p.oid::regprocedure)
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname = ${textConstant(schema)} and p.prosecdef and ${isNoExtension('pg_proc', sql`p.oid`)}
      and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0)
    union all
    select format('every role may make objects in it, those of all tenants too: revoke create on schema %I from public', n.nspname)
    from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
    where n.nspname = ${textConstant(schema)} and a.grantee = 0 and a.privilege_type = 'CREATE'
    order by 1`);
  return rows.map((row) => (row as { statement: string }).statement);
}

function schemaAndOwners(schema: string, role: string): Sql {
  return sql`schema as materialized (
      select oid, nspname, nspowner, nspacl, ${textConstant(role)}::text as role from pg_catalog.pg_namespace where nspname = ${textConstant(schema)}
    ), owner as materialized (
      select distinct pg_get_userbyid(case when o.oid = 'pg_database_owner'::regrole then d.datdba else o.oid end) as name
      from (select nspowner from schema union select c.relowner from pg_catalog.pg_class c join schema s on c.relnamespace = s.oid
        where c.relkind in ('r', 'p') and ${isNoExtension('pg_class', sql`c.oid`)}) o(oid), pg_catalog.pg_database d
      where d.datname = current_database()
    ), kind(type, rights) as (
      values ('r'::"char", 'select, insert, update, delete on tables'), ('S', 'usage on sequences')
    )`;
}

function isNoExtension(catalog: 'pg_class' | 'pg_proc', oid: Sql): Sql {
  return sql`not exists (select from pg_catalog.pg_depend e
    where e.classid = ${textConstant(`pg_catalog.${catalog}`)}::regclass and e.objid = ${oid} and e.deptype = 'e')`;
}

/** Skips what the service may not do. */
async function attempt(runner: StatementRunner, text: SqlText): Promise<void> {
  await runner.query('savepoint attempt');
  try {
    await runner.query(text);
    await runner.query('release savepoint attempt');
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    await runner.query('rollback to savepoint attempt');
  }
}

function formattedOf(row: unknown): SqlText {
  // eslint-disable-next-line rowpost/static-sql -- the queries above build it by format(), with %I for each name
  return formatted((row as { statement: string }).statement);
}
