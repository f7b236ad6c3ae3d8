import { checkAdoptable, grantSchema, releaseSchema } from '../../db/tenants/adoption.js';
import type { ControlDb } from '../../db/pool/database.js';
import { requireTenantInThisCell } from '../../db/cells/placement.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';
import { hashPassword, requireStrongPassword } from '../roles/passwords.js';
import { insertRole } from '../roles/roles.js';
import {
  createTenantSchema,
  dropTenantRole,
  dropTenantSchema,
  statementRunner,
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
export async function lockProvisioning(trx: ControlDb): Promise<void> {
  await trx.raw('lock table rowpost.provisioning_lock in share update exclusive mode');
}

/** A new tenant whose root password is already hashed, so that a transaction need not wait for hashing. */
export type HashedTenant = Omit<NewTenant, 'rootPassword'> & { readonly rootPasswordHash: string };

/**
 * Creates a tenant with its root role, its PostgreSQL role and schema, in one transaction.
 * Throws AppError NAME_TAKEN (tenant or schema), BAD_USER_INPUT (schema name), PASSWORD_TOO_WEAK.
 */
export async function createTenant(
  db: ControlDb,
  { rootPassword, ...tenant }: NewTenant,
): Promise<CreatedTenant> {
  if (tenant.schema !== undefined) checkSchemaName(tenant.schema);
  requireStrongPassword(rootPassword, [tenant.rootLogin, tenant.name]);
  return createHashedTenant(db, { ...tenant, rootPasswordHash: await hashPassword(rootPassword) });
}

/** As `createTenant`. */
export async function createHashedTenant(db: ControlDb, tenant: HashedTenant): Promise<CreatedTenant> {
  if (tenant.schema !== undefined) checkSchemaName(tenant.schema);
  return db.transaction((trx) => insertTenant(trx, tenant, createTenantSchema));
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
  db: ControlDb,
  { rootPassword, ...tenant }: NewTenant & { readonly schema: string },
): Promise<AdoptedTenant> {
  requireStrongPassword(rootPassword, [tenant.rootLogin, tenant.name]);
  const rootPasswordHash = await hashPassword(rootPassword);
  return db.transaction(async (trx) => {
    await checkAdoptable(statementRunner(trx), tenant.schema);
    let left: readonly string[] = [];
    const created = await insertTenant(
      trx,
      { ...tenant, rootPasswordHash },
      async (_trx, tenantid, schema) => {
        await trx('rowpost.tenant').where({ tenantid }).update({ adopted: true });
        left = await grantSchema(statementRunner(trx), { tenantid, schema });
      },
    );
    return { ...created, left };
  });
}

async function insertTenant(
  trx: ControlDb,
  tenant: HashedTenant,
  makeSchema: (trx: ControlDb, tenantid: number, schema: string) => Promise<void>,
): Promise<CreatedTenant> {
  await lockProvisioning(trx);
  const insert = trx('rowpost.tenant')
    .insert({ name: tenant.name })
    .returning<{ tenantid: number }[]>('tenantid');
  const [row] = await mapUniqueViolation(insert, ...nameTaken(tenant.name));
  if (!row) throw new Error('the tenant was not inserted');
  const { tenantid } = row;
  const schema = tenant.schema ?? `tenant_${tenantid}`;
  await mapUniqueViolation(
    trx('rowpost.tenant').where({ tenantid }).update({ schema }),
    `Another tenant has the schema "${schema}".`,
    { field: 'schema' },
  );
  await makeSchema(trx, tenantid, schema);
  const rootRoleid = await insertRole(trx, {
    tenantid,
    login: tenant.rootLogin,
    name: 'root',
    passwordHash: tenant.rootPasswordHash,
    parentid: null,
    classes: [],
    capabilities: [],
    creatorid: null,
  });
  await trx('rowpost.tenant').where({ tenantid }).update({ root_roleid: rootRoleid });
  return { tenantid, schema, rootRoleid };
}

/** Throws AppError TENANT_NOT_FOUND, NAME_TAKEN. */
export async function renameTenant(db: ControlDb, tenantid: number, name: string): Promise<void> {
  const count = await mapUniqueViolation(
    db('rowpost.tenant').where({ tenantid }).update({ name }),
    ...nameTaken(name),
  );
  if (count === 0) throw tenantNotFound(tenantid);
}

/** Takes effect within a second on every process. Throws AppError TENANT_NOT_FOUND, also for the installation. */
export async function suspendTenant(db: ControlDb, tenantid: number, suspended: boolean): Promise<void> {
  const count = await db('rowpost.tenant').where({ tenantid }).whereNotNull('schema').update({ suspended });
  if (count === 0) throw tenantNotFound(tenantid);
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another tenant is named "${name}".`, { field: 'name' }];
}

/** @returns undefined if no tenant has this name */
export async function findTenantid(db: ControlDb, name: string): Promise<number | undefined> {
  const row = await db('rowpost.tenant').where({ name }).first<{ tenantid: number } | undefined>('tenantid');
  return row?.tenantid;
}

/** Throws AppError TENANT_NOT_FOUND. */
export async function findRootRoleid(db: ControlDb, tenantid: number): Promise<number> {
  const tenant = await readTenant(db, tenantid);
  if (tenant?.root_roleid == null) throw tenantNotFound(tenantid);
  return tenant.root_roleid;
}

/**
 * Deletes a tenant with its schema and everything in it; an adopted schema is returned as it was. Throws AppError
 * TENANT_NOT_FOUND, SCHEMA_TOO_LARGE; PERMISSION_DENIED if owners of an adopted schema have to revoke grants first,
 * TRANSACTION_CONFLICT if its tables are in use all the time.
 */
export async function deleteTenant(db: ControlDb, tenantid: number): Promise<void> {
  await db.transaction(async (trx) => {
    await lockProvisioning(trx);
    const schema = await findTenantSchema(trx, tenantid);
    // It is not handed over meanwhile.
    await trx.raw('select from rowpost.tenant where tenantid = ? for update', [tenantid]);
    await requireTenantInThisCell(trx, tenantid);
    const isAdopted = (await readTenant(trx, tenantid))?.adopted === true;
    if (isAdopted) await trx('rowpost.tenant').where({ tenantid }).update({ adopted: false });
    await trx('rowpost.sent_mail').where({ tenantid }).delete();
    await trx('rowpost.tenant').where({ tenantid }).delete();
    if (isAdopted) {
      await releaseSchema(statementRunner(trx), { tenantid, schema });
      await dropTenantRole(trx, tenantid);
    } else {
      await dropTenantSchema(trx, tenantid, schema);
    }
  });
}

export async function listTenants(db: ControlDb): Promise<readonly ListedTenant[]> {
  return await listed(db).orderBy('tenantid');
}

/** @returns undefined when there is no such tenant. */
export async function readTenant(db: ControlDb, tenantid: number): Promise<ListedTenant | undefined> {
  return await listed(db).where({ tenantid }).first();
}

function listed(db: ControlDb) {
  return db('rowpost.tenant').select<ListedTenant[]>(
    'tenantid',
    'name',
    'schema',
    'root_roleid',
    'adopted',
    'suspended',
  );
}

/**
 * Tells every process that permissions of the tenant's roles have changed. Call it in the transaction of the change. Plans
 * are cached by version, so a version must never be reused, as a plain counter would be after restoring a backup beneath
 * running processes.
 */
export async function bumpPolicyVersion(db: ControlDb, tenantid: number): Promise<void> {
  await db.raw(
    `update rowpost.tenant
      set policy_version = greatest(policy_version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
      where tenantid = ?`,
    [tenantid],
  );
}

export async function setAnonymousLogins(db: ControlDb, tenantid: number, enabled: boolean): Promise<void> {
  await db('rowpost.tenant').where({ tenantid }).update({ anonymous_logins: enabled });
}

/** @returns undefined when there is no such tenant. */
export async function readAnonymousLogins(db: ControlDb, tenantid: number): Promise<boolean | undefined> {
  const row = await db('rowpost.tenant')
    .where({ tenantid })
    .first<{ anonymous_logins: boolean } | undefined>('anonymous_logins');
  return row?.anonymous_logins;
}
