import { AppError } from '../../foundation/errors.js';
import { QUEUE_SCHEMA } from '../pool/database.js';
import { attempt } from '../pool/inTransaction.js';
import { readLockQuota } from '../isolation/lockCapacity.js';
import { readRoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { ensureTenantRole } from '../isolation/tenantRoles.js';
import { identifier, statement } from '../sql/sql.js';
import { sqlState } from '../sql/sqlState.js';

const DUPLICATE_SCHEMA = '42P06';
const DEPENDENT_OBJECTS = '2BP01';
const MAX_NAME_BYTES = 63;
const SESSION_END_MS = 1_000;

/** Whether a schema belongs to PostgreSQL or to the service: no tenant's, whether created, adopted, moved or imported. */
export function isReservedSchema(schema: string): boolean {
  return /^(pg_|rowpost)/i.test(schema) || ['information_schema', QUEUE_SCHEMA].includes(schema);
}

/** Throws AppError BAD_USER_INPUT for names that a schema of a tenant's own can't have. */
export function checkSchemaName(schema: string): void {
  const isFree = !isReservedSchema(schema) && schema !== 'public';
  if (/^[A-Za-z_]\w*$/.test(schema) && schema.length <= MAX_NAME_BYTES && isFree) return;
  throw new AppError('BAD_USER_INPUT', `"${schema}" can't be the name of a tenant's schema.`, {
    hint: `Use letters, digits and underscores, at most ${MAX_NAME_BYTES}, and no reserved name.`,
    details: { field: 'schema' },
  });
}

/** The tenant's PostgreSQL schema. Throws AppError TENANT_NOT_FOUND, also for the installation, which has none. */
export async function findTenantSchema(db: StatementRunner, tenantid: number): Promise<string> {
  const { rows } = await db.query<{ schema: string | null }>(
    'select schema from rowpost.tenant where tenantid = $1',
    [tenantid],
  );
  const schema = rows[0]?.schema;
  if (schema == null) throw tenantNotFound(tenantid);
  return schema;
}

export function tenantNotFound(tenantid: number): AppError {
  return new AppError('TENANT_NOT_FOUND', `There is no tenant ${tenantid}.`, { details: { tenantid } });
}

/** Creates the tenant's role, and the schema that it owns. Throws AppError BAD_USER_INPUT (its name), NAME_TAKEN. */
export async function createTenantSchema(
  tx: StatementRunner,
  tenantid: number,
  schema: string,
): Promise<void> {
  checkSchemaName(schema);
  const names = await readRoleNames(tx);
  await ensureTenantRole(tx, names, tenantid);
  const role = names.tenant(tenantid);
  try {
    await tx.query(statement`create schema ${identifier(schema)} authorization ${identifier(role)}`);
  } catch (error) {
    if (sqlState(error) !== DUPLICATE_SCHEMA) throw error;
    throw new AppError('NAME_TAKEN', `The database already has a schema "${schema}".`, {
      details: { field: 'schema' },
      cause: error,
    });
  }
}

/**
 * Drops the schema with its contents, and the role unless it owns something in another database; with what others have made of
 * both, or two tenants that use each other's types could never be deleted. A tenant may have dropped its schema: whoever else made
 * one of that name keeps it. Throws AppError SCHEMA_TOO_LARGE.
 */
export async function dropTenantSchema(tx: StatementRunner, tenantid: number, schema: string): Promise<void> {
  const role = (await readRoleNames(tx)).tenant(tenantid);
  await requireDroppable(tx, role, schema);
  await endSessions(tx, role);
  const { rows } = await tx.query(
    statement`select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
      where n.nspname = $1::text::name and r.rolname in ($2::text::name, current_user)`,
    [schema, role],
  );
  if (rows.length > 0) await tx.query(statement`drop schema ${identifier(schema)} cascade`);
  // What it owns in schemas of others.
  await tx.query(statement`drop owned by ${identifier(role)} cascade`);
  await dropRole(tx, role);
}

/**
 * PostgreSQL locks each object that it drops, and each policy of others that names the role; and has one table of locks for all sessions.
 * Throws AppError SCHEMA_TOO_LARGE.
 * @param schema null: it stays
 * @param target the database of another cell, in which one transaction creates the objects
 */
export async function requireDroppable(
  runner: StatementRunner,
  role: string,
  schema: string | null,
  target?: StatementRunner,
): Promise<void> {
  const { rows } = await runner.query(LOCKS_TO_DROP, [schema, role]);
  const { needed, naming } = rows[0] as { needed: number; naming: readonly string[] };
  const whose = schema === null ? `the role "${role}"` : `"${schema}"`;
  const there = target && (await readLockQuota(target));
  if (there && needed > there.quota) {
    throw new AppError(
      'SCHEMA_TOO_LARGE',
      `To restore ${whose}, PostgreSQL needs ${needed} locks in the target, and has ${there.available} for everybody.`,
      { hint: 'Raise max_locks_per_transaction there.' },
    );
  }
  const { available, quota } = await readLockQuota(runner);
  if (needed <= quota) return;
  const [first, ...others] = naming;
  // A move has not copied them yet.
  const dropped = target ? [] : ['its objects'];
  if (first !== undefined) {
    const further = others.length > 0 ? ` and ${others.length} other schemas` : '';
    dropped.push(`the policies for "${role}" in "${first}"${further},`);
  }
  const drop = `, or drop ${dropped.join(', and ')} in parts first, as docs/how-to/monitor.md shows`;
  throw new AppError(
    'SCHEMA_TOO_LARGE',
    `To drop ${whose}, PostgreSQL needs ${needed} locks, and has ${available} for everybody.`,
    { hint: `Raise max_locks_per_transaction${dropped.length > 0 ? drop : ''}.` },
  );
}

/**
 * Of the schema, unless it is somebody else's, and what the role owns elsewhere, with all that depends on these, such as policies and
 * operators; and of the policies on other tables that name the role. `naming`: whose schemas these are in, most of them first.
 */
const LOCKS_TO_DROP = `
  with recursive role as (select oid from pg_catalog.pg_roles where rolname = $2::text::name),
  dropped(classid, objid) as (
    (
      select 'pg_catalog.pg_namespace'::regclass::oid, n.oid from pg_catalog.pg_namespace n
      where n.nspname = $1::text::name and (n.nspowner in (select oid from role) or pg_get_userbyid(n.nspowner) = current_user)
      union
      select s.classid, s.objid from pg_catalog.pg_shdepend s
      where s.refclassid = 'pg_catalog.pg_authid'::regclass and s.refobjid in (select oid from role) and s.deptype = 'o'
        and s.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
    )
    union
    select d.classid, d.objid from dropped x cross join lateral (
      select d.classid, d.objid from pg_catalog.pg_depend d where d.refclassid = x.classid and d.refobjid = x.objid offset 0
    ) d
  ),
  policy as (
    select p.polrelid from pg_catalog.pg_shdepend s join pg_catalog.pg_policy p on p.oid = s.objid
    where s.classid = 'pg_catalog.pg_policy'::regclass and s.deptype = 'r'
      and s.refclassid = 'pg_catalog.pg_authid'::regclass and s.refobjid in (select oid from role)
      and s.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
      and (s.classid, s.objid) not in (select classid, objid from dropped)
  )
  select ((select count(*) from dropped) + (select count(*) + count(distinct polrelid) from policy))::int as needed,
    array(
      select n.nspname::text from policy p join pg_catalog.pg_class c on c.oid = p.polrelid
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace group by 1 order by count(*) desc, 1) as naming`;

/** What they hold open would be waited for. One that PostgreSQL can't end is left. */
async function endSessions(runner: StatementRunner, role: string): Promise<void> {
  await runner.query(
    `select pg_catalog.pg_terminate_backend(pid, ${SESSION_END_MS}) from pg_catalog.pg_stat_activity
     where usename = $1 and datname = current_database()`,
    [role],
  );
}

/** Drops the tenant's role with its grants, unless it owns something in another database. Throws AppError SCHEMA_TOO_LARGE. */
export async function dropTenantRole(tx: StatementRunner, tenantid: number): Promise<void> {
  const role = (await readRoleNames(tx)).tenant(tenantid);
  await requireDroppable(tx, role, null);
  await tx.query(statement`drop owned by ${identifier(role)}`);
  await dropRole(tx, role);
}

async function dropRole(tx: StatementRunner, role: string): Promise<void> {
  await attempt(
    tx,
    () => tx.query(statement`drop role ${identifier(role)}`),
    (error) => sqlState(error) === DEPENDENT_OBJECTS,
  );
}
