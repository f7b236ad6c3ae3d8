import type { Pool } from 'pg';
import { ensureCaptureRole } from '../capture/captureRole.js';
import { inTransaction } from '../pool/inTransaction.js';
import { readRoleNames, type RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { ensureRole, ensureTenantRole } from '../isolation/tenantRoles.js';
import { ownValue } from '../../foundation/ownValue.js';
import {
  empty,
  formatted,
  identifier,
  join,
  sql,
  statement,
  textConstant,
  written,
  type Sql,
  type SqlText,
} from '../sql/sql.js';
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
    ', ',
  )}, rowpost_tenant.within(text, int), rowpost_tenant.within(anyelement, int) to public`,
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
  ) checked where lacks is not null order by tenantid`;

/**
 * The schema comes first, since objects in it can only then be given to its new owner: all that the service owns there,
 * except what follows its table, such as indexes and the sequences of columns.
 */
async function statementsToHandOver(
  runner: StatementRunner,
  schema: string,
  role: string,
): Promise<readonly SqlText[]> {
  const { rows } = await runner.query(ownedSql(schema));
  const owner = identifier(role);
  return [
    statement`alter schema ${identifier(schema)} owner to ${owner}`,
    ...(rows as readonly OwnedObject[]).map(
      (object) =>
        statement`alter ${ownValue(KINDS, object.catalog) ?? empty} ${nameOf(schema, object)} owner to ${owner}`,
    ),
  ];
}

interface OwnedObject {
  readonly catalog: string;
  readonly name: string;
  /** Of a function or an operator; null for an operator without a left one. */
  readonly args: readonly ({ readonly schema: string; readonly name: string } | null)[];
  /** Of an operator class or family: its index method. */
  readonly method: string | null;
}

/** `alter table` accepts every kind of relation, `alter routine` every kind of function. */
const KINDS: Readonly<Record<string, Sql>> = {
  pg_class: sql`table`,
  pg_proc: sql`routine`,
  pg_type: sql`type`,
  pg_operator: sql`operator`,
  pg_opclass: sql`operator class`,
  pg_opfamily: sql`operator family`,
  pg_collation: sql`collation`,
  pg_conversion: sql`conversion`,
  pg_statistic_ext: sql`statistics`,
  pg_ts_config: sql`text search configuration`,
  pg_ts_dict: sql`text search dictionary`,
};

function nameOf(schema: string, { catalog, name, args, method }: OwnedObject): Sql {
  const types = join(
    args.map((type) => (type === null ? sql`none` : identifier(type.schema, type.name))),
    ', ',
  );
  if (catalog === 'pg_operator') return sql`${identifier(schema)}.${operatorSymbol(name)} (${types})`;
  const object = identifier(schema, name);
  if (catalog === 'pg_proc') return sql`${object} (${types})`;
  return method === null ? object : sql`${object} using ${identifier(method)}`;
}

/** Operators have no quotes. */
function operatorSymbol(symbol: string): Sql {
  if (!/^[-+*/<>=~!@#%^&|`?]+$/.test(symbol)) throw new TypeError(`"${symbol}" is no operator`);
  // eslint-disable-next-line rowpost/static-sql -- it has no character but those of operators
  return written(formatted(symbol));
}

const ARGS = sql`json_agg(json_build_object('schema', an.nspname, 'name', a.typname) order by t.n)
  from unnest(p.proargtypes::oid[]) with ordinality t(oid, n)
    join pg_catalog.pg_type a on a.oid = t.oid join pg_catalog.pg_namespace an on an.oid = a.typnamespace`;

/** An operand's type; null where there is none. */
const operand = (side: Sql): Sql => sql`(select json_build_object('schema', an.nspname, 'name', a.typname)
  from pg_catalog.pg_type a join pg_catalog.pg_namespace an on an.oid = a.typnamespace where a.oid = o.${side})`;

/** An object whose catalog has only a name and an owner. */
const plain = (
  catalog: string,
  [name, namespace, owner]: readonly [Sql, Sql, Sql],
  method: Sql = sql`null`,
): Sql =>
  sql`select ${textConstant(catalog)} as catalog, o.oid, o.${name} as name, '[]'::json as args, ${method}::name as method
    from pg_catalog.${identifier(catalog)} o, schema s where o.${namespace} = s.oid and o.${owner} = s.service`;

const methodOf = (column: Sql): Sql =>
  sql`(select amname from pg_catalog.pg_am where pg_am.oid = o.${column})`;

const ownedSql = (schema: string): SqlText => statement`
  with schema as materialized (
    select n.oid, current_user::regrole::oid as service from pg_catalog.pg_namespace n
    where n.nspname = ${textConstant(schema)}::name
  ), owned as (
    select 'pg_class' as catalog, c.oid, c.relname as name, '[]'::json as args, null::name as method
    from pg_catalog.pg_class c, schema s where c.relnamespace = s.oid and c.relowner = s.service
      and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    union all
    select 'pg_type', y.oid, y.typname, '[]', null
    from pg_catalog.pg_type y left join pg_catalog.pg_class c on c.oid = y.typrelid, schema s
    where y.typnamespace = s.oid and y.typowner = s.service and (c.oid is null or c.relkind = 'c')
    union all
    select 'pg_proc', p.oid, p.proname, coalesce((select ${ARGS}), '[]'), null
    from pg_catalog.pg_proc p, schema s where p.pronamespace = s.oid and p.proowner = s.service
    union all
    select 'pg_operator', o.oid, o.oprname, json_build_array(${operand(sql`oprleft`)}, ${operand(sql`oprright`)}), null
    from pg_catalog.pg_operator o, schema s where o.oprnamespace = s.oid and o.oprowner = s.service
    union all ${join(
      [
        plain('pg_opclass', [sql`opcname`, sql`opcnamespace`, sql`opcowner`], methodOf(sql`opcmethod`)),
        plain('pg_opfamily', [sql`opfname`, sql`opfnamespace`, sql`opfowner`], methodOf(sql`opfmethod`)),
        plain('pg_collation', [sql`collname`, sql`collnamespace`, sql`collowner`]),
        plain('pg_conversion', [sql`conname`, sql`connamespace`, sql`conowner`]),
        plain('pg_statistic_ext', [sql`stxname`, sql`stxnamespace`, sql`stxowner`]),
        plain('pg_ts_config', [sql`cfgname`, sql`cfgnamespace`, sql`cfgowner`]),
        plain('pg_ts_dict', [sql`dictname`, sql`dictnamespace`, sql`dictowner`]),
      ],
      ' union all ',
    )}
  )
  select catalog, name::text as name, args, method::text as method from owned
  where not exists (select from pg_catalog.pg_depend f
    where f.classid = to_regclass('pg_catalog.' || catalog) and f.objid = owned.oid
      -- Columns of a partition key depend on their table.
      and f.objsubid = 0 and (f.deptype in ('i', 'e') or f.deptype = 'a' and catalog = 'pg_class'
        and exists (select from pg_catalog.pg_class c where c.oid = owned.oid and c.relkind = 'S')))
  order by catalog = 'pg_class' and exists (select from pg_catalog.pg_class c where c.oid = owned.oid and c.relkind = 'S'), catalog, name`;
