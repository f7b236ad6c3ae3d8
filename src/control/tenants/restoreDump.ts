import { repairCapture } from '../../db/capture/capture.js';
import { buildCatalog } from '../../db/catalog/buildCatalog.js';
import { readSchema } from '../../db/catalog/introspect.js';
import { checkSchemaSize } from '../../db/catalog/schemaSize.js';
import { applicationName, type DumpEnd } from '../../db/cells/moving/clientProgram.js';
import {
  restoreServiceSchemas,
  restoreTables,
  schemasIn,
  serviceTriggersIn,
} from '../../db/cells/moving/tablesDump.js';
import { missingRights } from '../../db/isolation/rights.js';
import { ServerGuard, withoutHolders } from '../../db/isolation/serverGuard.js';
import { QUEUE_SCHEMA } from '../../db/pool/database.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { identifier, statement } from '../../db/sql/sql.js';
import { isServerError } from '../../db/sql/sqlState.js';
import { findLostRoles, restoreLostRoles } from '../../db/tenants/lostRoles.js';
import { createTenantSchema, dropTenantSchema } from '../../db/tenants/tenantStorage.js';
import { lockProvisioning } from './tenants.js';
import { AppError, UsageError } from '../../foundation/errors.js';
import { withTimeout } from '../../foundation/withTimeout.js';

/** What the service restores itself: no tenant can put anything there. */
const SERVICE_SCHEMAS = ['rowpost', 'rowpost_tenant', QUEUE_SCHEMA];

export interface RestoredDump {
  readonly tenants: readonly number[];
  /** Why tenants were not restored. */
  readonly problems: readonly string[];
}

/** After so long, the next tenant is restored beside one that is not done yet: its code may never end. */
const PATIENCE_MS = 60_000;
/** Each takes two connections. */
const MAX_AT_ONCE = 20;

interface RestoreOptions {
  /** What the operator should know meanwhile. */
  readonly say?: (sentence: string) => void;
  readonly patienceMs?: number;
}

/**
 * Restores a dump of a whole installation into an empty database: what is the service's own as the service, and each tenant's schema
 * logged in as the tenant, whose checks, domains and generated columns run meanwhile. No tenant keeps the others from being restored;
 * repeated, it restores those that are missing. Throws UsageError.
 */
export async function restoreDump(
  end: DumpEnd,
  file: string,
  { say = () => undefined, patienceMs = PATIENCE_MS }: RestoreOptions = {},
): Promise<RestoredDump> {
  const { pool } = end.database;
  const lacking = await missingRights(pool);
  if (lacking.length > 0) throw new UsageError(lacking.join('\n'));
  const schemas = await schemasIn(file, SERVICE_SCHEMAS);
  if (!schemas.includes('rowpost')) throw new UsageError(`${file} is not a dump of an installation`);
  await requireAlone(end);
  if (!(await hasServiceTables(end))) {
    for (const schema of schemas)
      await pool.query(statement`create schema if not exists ${identifier(schema)}`);
    await restoreServiceSchemas(end, file, schemas);
  }
  await dropEmptySchemas(end);
  await restoreLostRoles(pool);
  // No relay may be running that would do it.
  return withoutHolders(
    new ServerGuard(end.database.createClient, () => end.database.tenants.names()),
    (error) => {
      say(`tenants' sessions that hold up the others can't be ended: ${(error as Error).message}`);
    },
    () => restoreTenants(end, file, { say, patienceMs }),
  );
}

async function restoreTenants(
  end: DumpEnd,
  file: string,
  { say, patienceMs }: Required<RestoreOptions>,
): Promise<RestoredDump> {
  const { pool } = end.database;
  const restored: number[] = [];
  const problems: string[] = [];
  const attemptFor = async (tenantid: number, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isOfTenant(error)) throw error;
      problems.push(`tenant ${tenantid}: ${error.message}`);
      return false;
    }
  };
  const made: Lost[] = [];
  // Before any tenant's code runs, whose transaction may hold what all roles have in common.
  for (const { tenantid, schema, adopted, lacks } of (await findLostRoles(pool)).tenants) {
    if (lacks !== 'schema') continue;
    if (adopted) {
      problems.push(
        `the schema "${schema}" of tenant ${tenantid} is an application's: restore it as its owner`,
      );
      continue;
    }
    const create = (): Promise<void> =>
      inTransaction(pool, (client) => createTenantSchema(client, tenantid, schema));
    if (await attemptFor(tenantid, create)) made.push({ tenantid, schema });
  }
  const underWay = new Set<Promise<void>>();
  for (const lost of made) {
    const { tenantid } = lost;
    const done = attemptFor(tenantid, async () => {
      await restoreTenant(end, file, lost);
      restored.push(tenantid);
      await serveTenant(end, lost);
    }).then(() => void underWay.delete(done));
    underWay.add(done);
    await withTimeout(done, patienceMs, () => {
      say(
        `tenant ${tenantid} takes long: others are restored meanwhile. If its code never ends, end its sessions, which pg_stat_activity lists`,
      );
    });
    if (underWay.size >= MAX_AT_ONCE) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  return { tenants: restored.sort((one, other) => one - other), problems };
}

interface Lost {
  readonly tenantid: number;
  readonly schema: string;
}

/** What a tenant's schema or code may cause. */
function isOfTenant(error: unknown): error is Error {
  return error instanceof UsageError || error instanceof AppError || isServerError(error);
}

/** Into its schema, which is dropped if that fails. */
async function restoreTenant(end: DumpEnd, file: string, { tenantid, schema }: Lost): Promise<void> {
  try {
    await restoreTables(end, tenantid, file, await serviceTriggersIn(file, schema), schema);
  } catch (error) {
    await inTransaction(end.database.pool, async (client) => {
      // Others fail at the same time: PostgreSQL rejects concurrent changes of what all roles have rights on.
      await lockProvisioning(client);
      await dropTenantSchema(client, tenantid, schema);
    });
    throw error;
  }
}

/** Who serves it, and its captured tables. */
async function serveTenant(
  { database: { pool, tenants } }: DumpEnd,
  { tenantid, schema }: Lost,
): Promise<void> {
  await tenants.settle(tenantid, schema);
  await checkSchemaSize(pool, schema);
  const catalog = buildCatalog(schema, await readSchema(pool, schema));
  await repairCapture(pool, await tenants.names(), tenantid, catalog, true);
}

/** The pg_restore of a command that was killed goes on, and commits what the next command would take for missing. */
async function requireAlone({ database: { pool } }: DumpEnd): Promise<void> {
  const { rows } = await pool.query<{ pid: number }>(
    statement`select pid from pg_catalog.pg_stat_activity where datname = current_database() and application_name = $1`,
    [applicationName('pg_restore')],
  );
  const [other] = rows;
  if (!other) return;
  throw new UsageError(
    `another pg_restore is still at work in this database (process ${other.pid} of PostgreSQL): repeat the command when it has ended`,
  );
}

async function hasServiceTables({ database: { pool } }: DumpEnd): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    statement`select to_regclass('rowpost.tenant') is not null as found`,
  );
  return rows[0]?.found === true;
}

/** Those of tenants that were being restored when the command was killed: nothing is in them then. */
async function dropEmptySchemas({ database: { pool } }: DumpEnd): Promise<void> {
  const { rows } = await pool.query<{ schema: string }>(statement`
    select t.schema from rowpost.tenant t join pg_catalog.pg_namespace n on n.nspname = t.schema
    where not t.adopted and not exists (
      select from pg_catalog.pg_depend d where d.refclassid = 'pg_catalog.pg_namespace'::regclass and d.refobjid = n.oid)`);
  for (const { schema } of rows) await pool.query(statement`drop schema ${identifier(schema)}`);
}
