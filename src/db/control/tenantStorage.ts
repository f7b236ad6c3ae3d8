import type { Knex } from 'knex';
import { AppError } from '../../errors.js';
import { tenantRole } from '../tenantTransaction.js';
import { isUniqueViolation, sqlState } from './constraint.js';

const DUPLICATE_OBJECT = '42710';
const DUPLICATE_SCHEMA = '42P06';
const DEPENDENT_OBJECTS = '2BP01';
const INSUFFICIENT_PRIVILEGE = '42501';
const MOST_NAME_BYTES = 63;

/** Throws AppError BAD_USER_INPUT for names that PostgreSQL or this service keeps for itself. */
export function checkSchemaName(schema: string): void {
  const reserved =
    /^pg_/i.test(schema) || ['information_schema', 'rowpost', 'rowpost_tenant', 'public'].includes(schema);
  if (/^[A-Za-z_]\w*$/.test(schema) && schema.length <= MOST_NAME_BYTES && !reserved) return;
  throw new AppError('BAD_USER_INPUT', `"${schema}" can't be the name of a tenant's schema.`, {
    hint: `Use letters, digits and underscores, at most ${MOST_NAME_BYTES}, and no reserved name.`,
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

/**
 * Makes the tenant's PostgreSQL role, and this service's own role a member of it. Roles belong to the whole
 * cluster: another database of it may have made the role already, and may be making it now.
 */
export async function ensureTenantRole(trx: Knex, tenantid: number): Promise<void> {
  const role = tenantRole(tenantid);
  const { rows } = await trx.raw<{ rows: unknown[] }>('select 1 from pg_roles where rolname = ?', [role]);
  if (rows.length === 0) {
    try {
      await trx.transaction((savepoint) => savepoint.raw('create role ?? nologin', [role]));
    } catch (error) {
      if (sqlState(error) !== DUPLICATE_OBJECT && !isUniqueViolation(error)) throw error;
    }
  }
  // Since PostgreSQL 16 the maker of a role is a member who may not enter it until it grants itself that.
  const membership = await trx.raw<{ rows: { may_enter: boolean }[] }>(
    `select pg_has_role(current_user, ?, case when current_setting('server_version_num')::int >= 160000
       then 'SET' else 'MEMBER' end) as may_enter`,
    [role],
  );
  if (membership.rows[0]?.may_enter === true) return;
  try {
    await trx.raw('grant ?? to current_user', [role]);
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new AppError(
      'NAME_TAKEN',
      `Another installation in this PostgreSQL cluster made the role "${role}".`,
      {
        hint: `Grant ${role} to this installation's role, or give it a cluster of its own.`,
        cause: error,
      },
    );
  }
}

/** Makes the schema, owned by the tenant's role, and opens the doors of the control schema to that role. */
export async function createTenantSchema(trx: Knex, tenantid: number, schema: string): Promise<void> {
  const role = tenantRole(tenantid);
  try {
    await trx.raw('create schema ?? authorization ??', [schema, role]);
  } catch (error) {
    if (sqlState(error) !== DUPLICATE_SCHEMA) throw error;
    throw new AppError('NAME_TAKEN', `The database already has a schema "${schema}".`, {
      details: { field: 'schema' },
      cause: error,
    });
  }
  await trx.raw('grant usage on schema rowpost_tenant to ??', [role]);
  await trx.raw('grant execute on all functions in schema rowpost_tenant to ??', [role]);
}

/** Drops the schema with all that it holds, and the role unless another database of the cluster uses it. */
export async function dropTenantSchema(trx: Knex, tenantid: number, schema: string): Promise<void> {
  const role = tenantRole(tenantid);
  await trx.raw('drop schema if exists ?? cascade', [schema]);
  await trx.raw('drop owned by ??', [role]);
  try {
    await trx.transaction((savepoint) => savepoint.raw('drop role ??', [role]));
  } catch (error) {
    if (sqlState(error) !== DEPENDENT_OBJECTS) throw error;
  }
}
