import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { AppError } from '../../foundation/errors.js';
import { QUEUE_SCHEMA } from '../pool/database.js';
import { readRoleNames, type StatementRunner } from '../isolation/roleNames.js';
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
export async function findTenantSchema(knex: Knex, tenantid: number): Promise<string> {
  const row = await knex('rowpost.tenant')
    .where({ tenantid })
    .first<{ schema: string | null } | undefined>('schema');
  if (row?.schema == null) throw tenantNotFound(tenantid);
  return row.schema;
}

export function tenantNotFound(tenantid: number): AppError {
  return new AppError('TENANT_NOT_FOUND', `There is no tenant ${tenantid}.`, { details: { tenantid } });
}

/** Runs statements on knex's connection, verbatim: in its own text, names with a question mark would be parameters. */
export function statementRunner(trx: Knex): StatementRunner {
  const connections = trx.client as KnexConnections;
  return {
    async query(text: string, values?: unknown[]) {
      const connection = await connections.acquireConnection();
      try {
        // Its connection is another's by now.
        if (trx.isTransaction === true && (trx as Knex.Transaction).isCompleted())
          throw new Error('the transaction has ended');
        // eslint-disable-next-line rowpost/static-sql -- `StatementRunner` takes no other
        return await connection.query<object>(text, values);
      } finally {
        await connections.releaseConnection(connection);
      }
    },
  };
}

/** A transaction has one connection, and does not release it. */
interface KnexConnections {
  acquireConnection(): Promise<ClientBase>;
  releaseConnection(connection: ClientBase): Promise<void>;
}

/** Creates the tenant's role, and the schema that it owns. Throws AppError BAD_USER_INPUT (its name), NAME_TAKEN. */
export async function createTenantSchema(trx: Knex, tenantid: number, schema: string): Promise<void> {
  checkSchemaName(schema);
  const role = await createRole(trx, tenantid);
  try {
    await statementRunner(trx).query(
      statement`create schema ${identifier(schema)} authorization ${identifier(role)}`,
    );
  } catch (error) {
    if (sqlState(error) !== DUPLICATE_SCHEMA) throw error;
    throw new AppError('NAME_TAKEN', `The database already has a schema "${schema}".`, {
      details: { field: 'schema' },
      cause: error,
    });
  }
}

async function createRole(trx: Knex, tenantid: number): Promise<string> {
  const runner = statementRunner(trx);
  const names = await readRoleNames(runner);
  await ensureTenantRole(runner, names, tenantid);
  return names.tenant(tenantid);
}

/**
 * Drops the schema with its contents, and the role unless it owns something in another database. A tenant may have dropped its
 * schema: whoever else made one of that name keeps it. Throws AppError SCHEMA_TOO_LARGE.
 */
export async function dropTenantSchema(trx: Knex, tenantid: number, schema: string): Promise<void> {
  const runner = statementRunner(trx);
  const role = (await readRoleNames(runner)).tenant(tenantid);
  await limitObjects(runner, schema, role);
  await endSessions(runner, role);
  const { rows } = await runner.query(
    statement`select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
      where n.nspname = $1::text::name and r.rolname in ($2::text::name, current_user)`,
    [schema, role],
  );
  if (rows.length > 0) await runner.query(statement`drop schema ${identifier(schema)} cascade`);
  await dropTenantRole(trx, tenantid);
}

/** PostgreSQL locks each object that it drops, and has one table of locks for all sessions. Throws AppError SCHEMA_TOO_LARGE. */
async function limitObjects(runner: StatementRunner, schema: string, role: string): Promise<void> {
  const { rows } = await runner.query(LOCKS_TO_DROP, [schema, role]);
  const { needed, available } = rows[0] as { needed: number; available: number };
  if (needed <= available * MAX_SHARE_OF_LOCKS) return;
  throw new AppError(
    'SCHEMA_TOO_LARGE',
    `To drop "${schema}", PostgreSQL needs ${needed} locks, and has ${available} for everybody.`,
    {
      hint: 'Drop its objects in parts first, by several scripts of "rowpost tenant sql", or raise max_locks_per_transaction.',
    },
  );
}

const MAX_SHARE_OF_LOCKS = 0.5;

/** Of the schema, unless it is somebody else's, and what the role owns elsewhere, with all that depends on these, such as policies and operators. */
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
  )
  select (select count(*) from dropped)::int as needed,
    current_setting('max_locks_per_transaction')::int
      * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) as available`;

/** What they hold open would be waited for. One that PostgreSQL can't end is left. */
async function endSessions(runner: StatementRunner, role: string): Promise<void> {
  await runner.query(
    `select pg_catalog.pg_terminate_backend(pid, ${SESSION_END_MS}) from pg_catalog.pg_stat_activity
     where usename = $1 and datname = current_database()`,
    [role],
  );
}

/** Drops the tenant's role with its grants, unless it owns something in another database. */
export async function dropTenantRole(trx: Knex, tenantid: number): Promise<void> {
  const role = (await readRoleNames(statementRunner(trx))).tenant(tenantid);
  await statementRunner(trx).query(statement`drop owned by ${identifier(role)}`);
  try {
    await trx.transaction(async (savepoint) => {
      await statementRunner(savepoint).query(statement`drop role ${identifier(role)}`);
    });
  } catch (error) {
    if (sqlState(error) !== DEPENDENT_OBJECTS) throw error;
  }
}
