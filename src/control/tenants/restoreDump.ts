import { repairCapture } from '../../db/capture/capture.js';
import { buildCatalog } from '../../db/catalog/buildCatalog.js';
import { readSchema } from '../../db/catalog/introspect.js';
import type { DumpEnd } from '../../db/cells/moving/clientProgram.js';
import {
  restoreServiceSchemas,
  restoreTables,
  schemasIn,
  serviceTriggersIn,
} from '../../db/cells/moving/tablesDump.js';
import { QUEUE_SCHEMA } from '../../db/pool/database.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { identifier, statement } from '../../db/sql/sql.js';
import { findLostRoles, restoreLostRoles } from '../../db/tenants/lostRoles.js';
import { createTenantSchema, dropTenantSchema } from '../../db/tenants/tenantStorage.js';
import { UsageError } from '../../foundation/errors.js';

/** What the service restores itself: no tenant can put anything there. */
const SERVICE_SCHEMAS = ['rowpost', 'rowpost_tenant', QUEUE_SCHEMA];

export interface RestoredDump {
  readonly tenants: readonly number[];
  /** Why tenants were not restored. */
  readonly problems: readonly string[];
}

/**
 * Restores a dump of a whole installation into an empty database: what is the service's own as the service, and each tenant's schema
 * logged in as the tenant, whose checks, domains and generated columns run meanwhile. No tenant keeps the others from being restored;
 * repeated, it restores those that are missing. Throws UsageError.
 */
export async function restoreDump(end: DumpEnd, file: string): Promise<RestoredDump> {
  const { pool } = end.database;
  if (!(await hasServiceTables(end))) {
    const schemas = await schemasIn(file, SERVICE_SCHEMAS);
    if (!schemas.includes('rowpost')) throw new UsageError(`${file} is not a dump of an installation`);
    for (const schema of schemas)
      await pool.query(statement`create schema if not exists ${identifier(schema)}`);
    await restoreServiceSchemas(end, file, schemas);
  }
  await dropEmptySchemas(end);
  await restoreLostRoles(pool);
  const tenants: number[] = [];
  const problems: string[] = [];
  for (const { tenantid, schema, adopted, lacks } of (await findLostRoles(pool)).tenants) {
    if (lacks !== 'schema') continue;
    if (adopted) {
      problems.push(
        `the schema "${schema}" of tenant ${tenantid} is an application's: restore it as its owner`,
      );
      continue;
    }
    try {
      await restoreTenant(end, file, { tenantid, schema });
      tenants.push(tenantid);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(`tenant ${tenantid}: ${error.message}`);
    }
  }
  return { tenants, problems };
}

async function restoreTenant(
  end: DumpEnd,
  file: string,
  { tenantid, schema }: { readonly tenantid: number; readonly schema: string },
): Promise<void> {
  const { pool, tenants } = end.database;
  await inTransaction(pool, (client) => createTenantSchema(client, tenantid, schema));
  try {
    await restoreTables(end, tenantid, file, await serviceTriggersIn(file, schema), schema);
  } catch (error) {
    await inTransaction(pool, (client) => dropTenantSchema(client, tenantid, schema));
    throw error;
  }
  await tenants.settle(tenantid, schema);
  const catalog = buildCatalog(schema, await readSchema(pool, schema));
  await repairCapture(pool, await tenants.names(), tenantid, catalog, true);
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
