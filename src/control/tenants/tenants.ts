import { checkAdoptable, grantSchema, releaseSchema } from '../../db/tenants/adoption.js';
import type { Database } from '../../db/pool/database.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { isInOtherCell, requireNotFollowed, requireTenantInThisCell } from '../../db/cells/placement.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';
import { hashPassword, requireStrongPassword } from '../roles/passwords.js';
import { insertRole } from '../roles/roles.js';
import { sql, statement } from '../../db/sql/sql.js';
import {
  createTenantSchema,
  dropTenantRole,
  dropTenantSchema,
  checkSchemaName,
  findTenantSchema,
  tenantNotFound,
} from '../../db/tenants/tenantStorage.js';

export interface NewTenant {
  readonly name: string;
  /** The PostgreSQL schema; `tenant_<tenantid>` by default. */
  readonly schema?: string | undefined;
  readonly rootLogin: string;
  readonly rootPassword: string;
}

export interface CreatedTenant {
  readonly tenantid: number;
  readonly schema: string;
  readonly rootRoleid: number;
}

export interface ListedTenant {
  readonly tenantid: number;
  readonly name: string;
  readonly schema: string | null;
  readonly root_roleid: number | null;
  /** Whether the schema belongs to an application. */
  readonly adopted: boolean;
  readonly suspended: boolean;
}

/** Provisioning changes grants on shared objects; PostgreSQL rejects concurrent changes of those. */
export async function lockProvisioning(tx: StatementRunner): Promise<void> {
  await tx.query('lock table rowpost.provisioning_lock in share update exclusive mode');
}

/** A new tenant whose root password is already hashed, so that a transaction need not wait for hashing. */
export type HashedTenant = Omit<NewTenant, 'rootPassword'> & { readonly rootPasswordHash: string };

/**
 * Creates a tenant with its root role, its PostgreSQL role and schema, in one transaction.
 * Throws AppError NAME_TAKEN (tenant or schema), BAD_USER_INPUT (schema name), PASSWORD_TOO_WEAK.
 */
export async function createTenant(
  pool: Database['pool'],
  { rootPassword, ...tenant }: NewTenant,
): Promise<CreatedTenant> {
  if (tenant.schema !== undefined) checkSchemaName(tenant.schema);
  requireStrongPassword(rootPassword, [tenant.rootLogin, tenant.name]);
  const hashed = { ...tenant, rootPasswordHash: await hashPassword(rootPassword) };
  return inTransaction(pool, (tx) => createHashedTenant(tx, hashed));
}

/** As `createTenant`, in a transaction of the caller. */
export async function createHashedTenant(tx: StatementRunner, tenant: HashedTenant): Promise<CreatedTenant> {
  if (tenant.schema !== undefined) checkSchemaName(tenant.schema);
  return insertTenant(tx, tenant, createTenantSchema);
}

export interface AdoptedTenant extends CreatedTenant {
  /** Statements that the owners of the schema and its tables still have to run. */
  readonly left: readonly string[];
}

/**
 * Creates a tenant for a schema that belongs to an application, in one transaction; ownership does not change. Throws
 * AppError NAME_TAKEN (tenant, or the schema has one), BAD_USER_INPUT (schema), PASSWORD_TOO_WEAK.
 */
export async function adoptTenant(
  pool: Database['pool'],
  { rootPassword, ...tenant }: NewTenant & { readonly schema: string },
): Promise<AdoptedTenant> {
  requireStrongPassword(rootPassword, [tenant.rootLogin, tenant.name]);
  const rootPasswordHash = await hashPassword(rootPassword);
  return inTransaction(pool, async (tx) => {
    await checkAdoptable(tx, tenant.schema);
    let left: readonly string[] = [];
    const created = await insertTenant(tx, { ...tenant, rootPasswordHash }, async (_tx, tenantid, schema) => {
      await tx.query('update rowpost.tenant set adopted = true where tenantid = $1', [tenantid]);
      left = await grantSchema(tx, { tenantid, schema });
    });
    return { ...created, left };
  });
}

async function insertTenant(
  tx: StatementRunner,
  tenant: HashedTenant,
  makeSchema: (tx: StatementRunner, tenantid: number, schema: string) => Promise<void>,
): Promise<CreatedTenant> {
  await lockProvisioning(tx);
  const insert = tx.query<{ tenantid: number }>(
    'insert into rowpost.tenant (name) values ($1) returning tenantid',
    [tenant.name],
  );
  const [row] = (await mapUniqueViolation(insert, ...nameTaken(tenant.name))).rows;
  if (!row) throw new Error('the tenant was not inserted');
  const { tenantid } = row;
  const schema = tenant.schema ?? `tenant_${tenantid}`;
  await mapUniqueViolation(
    tx.query('update rowpost.tenant set schema = $2 where tenantid = $1', [tenantid, schema]),
    `Another tenant has the schema "${schema}".`,
    { field: 'schema' },
  );
  await makeSchema(tx, tenantid, schema);
  const rootRoleid = await insertRole(tx, {
    tenantid,
    login: tenant.rootLogin,
    name: 'root',
    passwordHash: tenant.rootPasswordHash,
    parentid: null,
    classes: [],
    capabilities: [],
    creatorid: null,
  });
  await tx.query('update rowpost.tenant set root_roleid = $2 where tenantid = $1', [tenantid, rootRoleid]);
  return { tenantid, schema, rootRoleid };
}

/** Throws AppError TENANT_NOT_FOUND, NAME_TAKEN. */
export async function renameTenant(db: StatementRunner, tenantid: number, name: string): Promise<void> {
  const { rowCount } = await mapUniqueViolation(
    db.query('update rowpost.tenant set name = $2 where tenantid = $1', [tenantid, name]),
    ...nameTaken(name),
  );
  if (rowCount === 0) throw tenantNotFound(tenantid);
}

/** Takes effect within a second on every process. Throws AppError TENANT_NOT_FOUND, also for the installation. */
export async function suspendTenant(
  db: StatementRunner,
  tenantid: number,
  suspended: boolean,
): Promise<void> {
  const { rowCount } = await db.query(
    'update rowpost.tenant set suspended = $2 where tenantid = $1 and schema is not null',
    [tenantid, suspended],
  );
  if (rowCount === 0) throw tenantNotFound(tenantid);
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another tenant is named "${name}".`, { field: 'name' }];
}

/** @returns undefined if no tenant has this name */
export async function findTenantid(db: StatementRunner, name: string): Promise<number | undefined> {
  const { rows } = await db.query<{ tenantid: number }>(
    'select tenantid from rowpost.tenant where name = $1',
    [name],
  );
  return rows[0]?.tenantid;
}

/** Throws AppError TENANT_NOT_FOUND. */
export async function findRootRoleid(db: StatementRunner, tenantid: number): Promise<number> {
  const tenant = await readTenant(db, tenantid);
  if (tenant?.root_roleid == null) throw tenantNotFound(tenantid);
  return tenant.root_roleid;
}

/**
 * Deletes a tenant with its schema and everything in it; an adopted schema is returned as it was. The relay deletes its rows
 * of `LEFT_TABLES`, and its deliveries stay until their retention is over. Throws AppError
 * TENANT_NOT_FOUND, SCHEMA_TOO_LARGE; PERMISSION_DENIED if owners of an adopted schema have to revoke grants first,
 * TRANSACTION_CONFLICT if its tables are in use all the time. Pass a transaction.
 */
export async function deleteTenant(tx: StatementRunner, tenantid: number): Promise<void> {
  // Before the lock that all new tenants wait for.
  await deleteManyRoles(tx, tenantid);
  await lockProvisioning(tx);
  const schema = await findTenantSchema(tx, tenantid);
  // It is not handed over meanwhile.
  await tx.query('select from rowpost.tenant where tenantid = $1 for update', [tenantid]);
  await requireTenantInThisCell(tx, tenantid);
  await requireNotFollowed(tx, tenantid);
  // It was moved by hand. Cells have one storage, and the files of tenants that are gone are swept.
  if (await isInOtherCell(tx, tenantid)) {
    await tx.query('delete from rowpost.file where tenantid = $1', [tenantid]);
  }
  const isAdopted = (await readTenant(tx, tenantid))?.adopted === true;
  if (isAdopted) await tx.query('update rowpost.tenant set adopted = false where tenantid = $1', [tenantid]);
  await tx.query('delete from rowpost.tenant where tenantid = $1', [tenantid]);
  if (isAdopted) {
    await releaseSchema(tx, { tenantid, schema });
    await dropTenantRole(tx, tenantid);
  } else {
    await dropTenantSchema(tx, tenantid, schema);
  }
}

/** Of one statement: it takes 60 µs for each, with the rows that refer to it. */
const ROLES_TOGETHER = 10_000;

/** Deletes the roles of a tenant that has more than one statement could delete. */
async function deleteManyRoles(tx: StatementRunner, tenantid: number): Promise<void> {
  const parts = await rolesInParts(tx, tenantid);
  if (parts.length < 2) return;
  // Otherwise that of each role is checked by the commit.
  await tx.query('set constraints rowpost.tenant_root_roleid_fkey immediate');
  await tx.query('delete from rowpost.email_rule where tenantid = $1', [tenantid]);
  const OF_PART = sql`where tenantid = $1 and roleid between $2 and $3`;
  for (const change of [
    // In any order, also that of parents before their children.
    statement`update rowpost.role set parentid = null ${OF_PART} and parentid is not null`,
    statement`delete from rowpost.role ${OF_PART}`,
  ]) {
    for (const { first, last } of parts) await tx.query(change, [tenantid, first, last]);
  }
}

async function rolesInParts(
  tx: StatementRunner,
  tenantid: number,
): Promise<readonly { readonly first: number; readonly last: number }[]> {
  const { rows } = await tx.query<{ first: number; last: number }>(
    `select min(roleid) as first, max(roleid) as last
     from (select roleid, (row_number() over (order by roleid) - 1) / $2 as part
       from rowpost.role where tenantid = $1) numbered
     group by part order by part`,
    [tenantid, ROLES_TOGETHER],
  );
  return rows;
}

export async function listTenants(db: StatementRunner): Promise<readonly ListedTenant[]> {
  const { rows } = await db.query<ListedTenant>(statement`${LISTED} order by tenantid`);
  return rows;
}

/** @returns undefined when there is no such tenant. */
export async function readTenant(db: StatementRunner, tenantid: number): Promise<ListedTenant | undefined> {
  const { rows } = await db.query<ListedTenant>(statement`${LISTED} where tenantid = $1`, [tenantid]);
  return rows[0];
}

const LISTED = sql`select tenantid, name, schema, root_roleid, adopted, suspended from rowpost.tenant`;

export async function setAnonymousLogins(
  db: StatementRunner,
  tenantid: number,
  enabled: boolean,
): Promise<void> {
  await db.query('update rowpost.tenant set anonymous_logins = $2 where tenantid = $1', [tenantid, enabled]);
}

/** @returns undefined when there is no such tenant. */
export async function readAnonymousLogins(
  db: StatementRunner,
  tenantid: number,
): Promise<boolean | undefined> {
  const { rows } = await db.query<{ anonymous_logins: boolean }>(
    'select anonymous_logins from rowpost.tenant where tenantid = $1',
    [tenantid],
  );
  return rows[0]?.anonymous_logins;
}
