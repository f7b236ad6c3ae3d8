import type { Pool } from 'pg';
import { ensureCaptureRole } from '../capture/captureRole.js';
import { inTransaction } from '../pool/inTransaction.js';
import { readRoleNames, type RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { ensureRole, ensureTenantRole } from '../isolation/tenantRoles.js';
import { formatted, identifier, join, sql, statement, textConstant, type SqlText } from '../sql/sql.js';
import { grantSchema } from './adoption.js';
import { checkSchemaName } from './tenantStorage.js';

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
    statement`select from pg_catalog.pg_roles where rolname = ${textConstant(shared)}::name`,
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
    const { rows } = await client.query(statement`select from rowpost.captured_table limit 1`);
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

/** Creates the tenant's role and gives it the schema that the service owns. Call it in a transaction. Throws AppError BAD_USER_INPUT for a name that no tenant may have. */
export async function handOverSchema(
  runner: StatementRunner,
  names: RoleNames,
  { tenantid, schema }: Pick<LostTenant, 'tenantid' | 'schema'>,
): Promise<void> {
  checkSchemaName(schema);
  await ensureTenantRole(runner, names, tenantid);
  for (const each of await statementsToHandOver(runner, schema, names.tenant(tenantid)))
    await runner.query(each);
}

const OPEN_TO_PUBLIC = [
  'clean_session',
  'has_capture_trigger',
  'in_utc',
  'is_captured',
  'refuse',
  'tenantid',
  'tenantid_of',
  'within',
];

/** The grants of the migrations, or fewer: nobody else has access to the schema `rowpost`. Tenants' roles bring their own. */
const GRANTS = [
  statement`revoke all on all functions in schema rowpost, rowpost_tenant from public`,
  statement`grant execute on function ${join(
    OPEN_TO_PUBLIC.filter((name) => name !== 'within').map((name) => identifier('rowpost_tenant', name)),
  )}, rowpost_tenant.within(text, int), rowpost_tenant.within(anyelement, int) to public`,
  statement`grant insert on rowpost_tenant.event to public`,
];

const LOST_GRANTS_SQL = statement`
  select exists (select from pg_catalog.pg_proc p where p.pronamespace = 'rowpost_tenant'::regnamespace
      and has_function_privilege('public', p.oid, 'execute') <> (p.proname in (${join(OPEN_TO_PUBLIC.map(textConstant))})))
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
  ) checked where lacks is not null order by tenantid`;

/** Catalogs of what a schema holds, and what the names of their columns begin with. */
const OWNED = [
  ['pg_class', 'rel'],
  ['pg_proc', 'pro'],
  ['pg_type', 'typ'],
  ['pg_operator', 'opr'],
  ['pg_opclass', 'opc'],
  ['pg_opfamily', 'opf'],
  ['pg_collation', 'coll'],
  ['pg_conversion', 'con'],
  ['pg_statistic_ext', 'stx'],
  ['pg_ts_config', 'cfg'],
  ['pg_ts_dict', 'dict'],
] as const;

/**
 * The schema comes first, since objects in it can only then be given to its new owner: all that the service owns there,
 * except what follows its table, such as indexes and the sequences of columns.
 */
async function statementsToHandOver(
  runner: StatementRunner,
  schema: string,
  role: string,
): Promise<readonly SqlText[]> {
  const owned = OWNED.map(
    ([catalog, prefix]) => sql`select ${textConstant(catalog)}::regclass as classid, o.oid
      from pg_catalog.${identifier(catalog)} o, schema s
      where o.${identifier(`${prefix}namespace`)} = s.oid and o.${identifier(`${prefix}owner`)} = s.service`,
  );
  const { rows } = await runner.query(statement`
    with schema as materialized (
      select n.oid, current_user::regrole::oid as service from pg_catalog.pg_namespace n
      where n.nspname = ${textConstant(schema)}::name
    ), owned as (${join(owned, ' union all ')})
    select pg_catalog.format('alter %s %s owner to %I', case
        when o.classid = 'pg_catalog.pg_proc'::regclass then 'routine'
        when o.classid = 'pg_catalog.pg_statistic_ext'::regclass then 'statistics'
        else i.type end, i.identity, ${textConstant(role)}) as text
    from owned o left join pg_catalog.pg_class c on c.oid = o.oid and o.classid = 'pg_catalog.pg_class'::regclass,
      pg_catalog.pg_identify_object(o.classid, o.oid, 0) i
    where (c.oid is null or c.relkind in ('r', 'p', 'v', 'm', 'f', 'S'))
      and not exists (select from pg_catalog.pg_depend f
        where f.classid = o.classid and f.objid = o.oid
          -- Columns of a partition key depend on their table.
          and f.objsubid = 0 and (f.deptype in ('i', 'e') or f.deptype = 'a' and c.relkind = 'S'))
    order by coalesce(c.relkind = 'S', false), o.classid, i.identity`);
  return [
    statement`alter schema ${identifier(schema)} owner to ${identifier(role)}`,
    // eslint-disable-next-line rowpost/static-sql -- PostgreSQL has built it
    ...(rows as readonly { readonly text: string }[]).map(({ text }) => formatted(text)),
  ];
}
