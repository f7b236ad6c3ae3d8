import type { Pool } from 'pg';
import { ensureCaptureRole } from '../capture/captureRole.js';
import { inTransaction } from '../connection/inTransaction.js';
import { readRoleNames, type RoleNames, type StatementRunner } from '../connection/roleNames.js';
import { ensureRole, ensureTenantRole } from '../connection/tenantRoles.js';
import { formatted, identifier, join, sql, statement, textConstant, type SqlText } from '../sql.js';
import { grantSchema } from './adoption.js';

// PostgreSQL's roles belong to the cluster, not to the database: the owners and grantees in a dump don't exist where it is
// restored, or are the roles of the database it was taken from.

/** What a tenant lacks. */
interface LostTenant {
  readonly tenantid: number;
  readonly schema: string;
  readonly adopted: boolean;
  /** Null if the schema is missing. */
  readonly owner: string | null;
  readonly lacks: 'schema' | 'role' | 'owner' | 'grants';
}

interface LostRoles {
  readonly tenants: readonly LostTenant[];
  /** Rowpost's own functions and views are accessible to roles that must not use them, or not accessible to tenants. */
  readonly grants: boolean;
}

/** Roles and grants that the database lacks, as after restoring a dump. Throws what the driver throws. */
export async function findLostRoles(runner: StatementRunner): Promise<LostRoles> {
  const names = await readRoleNames(runner);
  const tenants = await runner.query(lostTenantsSql(names));
  const { rows } = await runner.query(LOST_GRANTS_SQL);
  return {
    tenants: tenants.rows as readonly LostTenant[],
    grants: (rows[0] as { lost: boolean }).lost,
  };
}

/** Counts tenants as `findLostRoles` does, but without checking grants: cheap enough to poll. Throws what the driver throws. */
export async function countLostTenants(runner: StatementRunner): Promise<number> {
  const { tenantPrefix } = await readRoleNames(runner);
  const { rows } = await runner.query(statement`
    select count(*)::int as lost from rowpost.tenant t
      left join pg_catalog.pg_namespace n on n.nspname = t.schema
      left join pg_catalog.pg_roles r on r.rolname = ${textConstant(tenantPrefix)} || t.tenantid
    where t.schema is not null and (n.oid is null or r.oid is null or not t.adopted and n.nspowner <> r.oid)`);
  return (rows[0] as { lost: number }).lost;
}

/** False for a database on which `release` has not been run since it was restored. Throws what the driver throws. */
export async function hasSharedRole(runner: StatementRunner): Promise<boolean> {
  const { shared } = await readRoleNames(runner);
  const { rows } = await runner.query(
    statement`select from pg_catalog.pg_roles where rolname = ${textConstant(shared)}`,
  );
  return rows.length > 0;
}

/**
 * Recreates what is lost, and transfers to each tenant's role what the dump's owner owned. Idempotent. Throws what pg throws.
 * @returns the number of tenants restored, and messages about what others have to do
 */
export async function restoreLostRoles(
  pool: Pool,
): Promise<{ readonly restored: number; readonly problems: readonly string[] }> {
  const { tenants, grants } = await findLostRoles(pool);
  if (grants) {
    await inTransaction(pool, async (client) => {
      for (const grant of GRANTS) await client.query(grant);
    });
  }
  for (const tenant of tenants) {
    if (tenant.lacks !== 'schema') await inTransaction(pool, (client) => restoreTenant(client, tenant));
  }
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query('select from rowpost.captured_table limit 1');
    if (rows.length > 0) await ensureCaptureRole(client, await readRoleNames(client));
  });
  const left = (await findLostRoles(pool)).tenants;
  return { restored: tenants.length - left.length, problems: left.map(describeLostTenant) };
}

/** A message for the operator. */
export function describeLostTenant({ tenantid, schema, owner, lacks }: LostTenant): string {
  switch (lacks) {
    case 'schema':
      return `the schema "${schema}" of tenant ${tenantid} is missing`;
    case 'role':
      return `tenant ${tenantid} has no database role`;
    case 'owner':
      return `the schema "${schema}" of tenant ${tenantid} belongs to "${String(owner)}"`;
    case 'grants':
      return `the database role of tenant ${tenantid} lacks grants`;
  }
}

async function restoreTenant(
  runner: StatementRunner,
  { tenantid, schema, adopted, owner }: LostTenant,
): Promise<void> {
  const names = await readRoleNames(runner);
  if (adopted) {
    await grantSchema(runner, { tenantid, schema });
    return;
  }
  const role = names.tenant(tenantid);
  if (owner === names.service) {
    await handOverSchema(runner, names, { tenantid, schema });
    return;
  }
  await ensureTenantRole(runner, names, tenantid);
  if (owner !== role && new RegExp(`^rowpost_\\d+_tenant_${tenantid}$`).test(owner ?? '')) {
    await ensureRole(runner, owner ?? '');
    await runner.query(statement`reassign owned by ${identifier(owner ?? '')} to ${identifier(role)}`);
  }
}

/** Creates the tenant's role and gives it the schema that the service owns. Call it in a transaction. */
export async function handOverSchema(
  runner: StatementRunner,
  names: RoleNames,
  { tenantid, schema }: Pick<LostTenant, 'tenantid' | 'schema'>,
): Promise<void> {
  await ensureTenantRole(runner, names, tenantid);
  for (const text of await statementsToHandOver(runner, schema, names.tenant(tenantid))) {
    await runner.query(text);
  }
}

const OPEN_TO_PUBLIC = [
  'clean_session',
  'has_capture_trigger',
  'is_captured',
  'refuse',
  'tenantid',
  'tenantid_of',
];

/** The grants of the migrations, or fewer: nobody else has access to the schema `rowpost`. Tenants' roles bring their own. */
const GRANTS = [
  statement`revoke all on all functions in schema rowpost, rowpost_tenant from public`,
  statement`grant execute on function ${join(
    OPEN_TO_PUBLIC.map((name) => identifier('rowpost_tenant', name)),
    ', ',
  )} to public`,
  statement`grant insert on rowpost_tenant.event to public`,
];

const LOST_GRANTS_SQL = statement`
  select exists (select from pg_catalog.pg_proc p where p.pronamespace = 'rowpost_tenant'::regnamespace
      and has_function_privilege('public', p.oid, 'execute') <> (p.proname in (${join(OPEN_TO_PUBLIC.map(textConstant), ', ')})))
    or not has_table_privilege('public', 'rowpost_tenant.event', 'insert') as lost`;

const lostTenantsSql = ({ tenantPrefix }: RoleNames): SqlText => statement`
  select tenantid, schema, adopted, owner, lacks from (
    select t.tenantid, t.schema, t.adopted, pg_catalog.pg_get_userbyid(n.nspowner)::text as owner, case
      when n.oid is null then 'schema'
      when r.oid is null then 'role'
      when not t.adopted and n.nspowner <> r.oid then 'owner'
      when not has_schema_privilege(r.oid, 'rowpost_tenant', 'usage')
        or exists (select from pg_catalog.pg_proc p where p.pronamespace = 'rowpost_tenant'::regnamespace
          and not has_function_privilege(r.oid, p.oid, 'execute')) then 'grants' end as lacks
    from rowpost.tenant t
      left join pg_catalog.pg_namespace n on n.nspname = t.schema
      left join pg_catalog.pg_roles r on r.rolname = ${textConstant(tenantPrefix)} || t.tenantid
    where t.schema is not null
  ) judged where lacks is not null order by tenantid`;

/**
 * The schema comes first, since objects in it can only then be given to its new owner: all that the service owns there,
 * except what follows its table, such as indexes and the sequences of columns.
 */
async function statementsToHandOver(
  runner: StatementRunner,
  schema: string,
  role: string,
): Promise<readonly SqlText[]> {
  const { rows } = await runner.query(statement`
    select format('alter %s %s owner to %I', case i.type when 'statistics object' then 'statistics'
        when 'composite type' then 'type' else i.type end, i.identity, ${textConstant(role)}) as statement
    from pg_catalog.pg_namespace n
      join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = n.oid,
      pg_catalog.pg_identify_object(d.classid, d.objid, 0) i
    where n.nspname = ${textConstant(schema)} and ${OWNED_BY_SERVICE}
      and not exists (select from pg_catalog.pg_depend f where f.classid = d.classid and f.objid = d.objid
        -- Columns of a partition key depend on their table.
        and f.objsubid = 0 and (f.deptype in ('i', 'e') or i.type = 'sequence' and f.deptype = 'a'))
    order by i.type = 'sequence', i.identity`);
  return [
    statement`alter schema ${identifier(schema)} owner to ${identifier(role)}`,
    // eslint-disable-next-line rowpost/static-sql -- PostgreSQL quotes names in an identity
    ...(rows as readonly { statement: string }[]).map((row) => formatted(row.statement)),
  ];
}

/** Whether the service owns the object, for the kinds of objects that have owners. */
const OWNED_BY_SERVICE = sql`current_user::regrole::oid = case d.classid
  when 'pg_catalog.pg_class'::regclass then (select relowner from pg_catalog.pg_class where oid = d.objid)
  when 'pg_catalog.pg_proc'::regclass then (select proowner from pg_catalog.pg_proc where oid = d.objid)
  when 'pg_catalog.pg_type'::regclass then (select typowner from pg_catalog.pg_type where oid = d.objid)
  when 'pg_catalog.pg_operator'::regclass then (select oprowner from pg_catalog.pg_operator where oid = d.objid)
  when 'pg_catalog.pg_opclass'::regclass then (select opcowner from pg_catalog.pg_opclass where oid = d.objid)
  when 'pg_catalog.pg_opfamily'::regclass then (select opfowner from pg_catalog.pg_opfamily where oid = d.objid)
  when 'pg_catalog.pg_collation'::regclass then (select collowner from pg_catalog.pg_collation where oid = d.objid)
  when 'pg_catalog.pg_conversion'::regclass then (select conowner from pg_catalog.pg_conversion where oid = d.objid)
  when 'pg_catalog.pg_statistic_ext'::regclass then (select stxowner from pg_catalog.pg_statistic_ext where oid = d.objid)
  when 'pg_catalog.pg_ts_config'::regclass then (select cfgowner from pg_catalog.pg_ts_config where oid = d.objid)
  when 'pg_catalog.pg_ts_dict'::regclass then (select dictowner from pg_catalog.pg_ts_dict where oid = d.objid)
end`;
