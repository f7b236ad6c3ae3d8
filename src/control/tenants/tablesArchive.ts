import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { DumpEnd } from '../../db/cells/moving/clientProgram.js';
import { dumpTables, restoreTables, serviceTriggers } from '../../db/cells/moving/tablesDump.js';
import { inTransaction, type TransactionClient } from '../../db/pool/inTransaction.js';
import { createTenantSchema, dropTenantSchema } from '../../db/tenants/tenantStorage.js';
import { UsageError } from '../../foundation/errors.js';
import type { Header, Verified } from './exportFile.js';
import { lockProvisioning } from './tenants.js';

/** Writes the tables of a tenant's own schema to a file. @returns what the export says of it. Throws UsageError. */
export async function writeArchive(
  source: DumpEnd,
  tenant: { readonly tenantid: number; readonly schema: string },
  file: string,
): Promise<{ readonly digest: string; readonly triggers: ReadonlySet<string> }> {
  try {
    await source.database.tenants.changeSchema(tenant.tenantid, (session) =>
      dumpTables(session, source.url, tenant.schema, file),
    );
  } finally {
    // Its login was let in, whoever serves it.
    await source.database.tenants.settle(tenant.tenantid, tenant.schema);
  }
  return {
    digest: await digestOf(file),
    triggers: await serviceTriggers(source.database.pool, tenant.schema),
  };
}

/**
 * Creates the schema of an export, restores its tables logged in as the tenant, whose rights end there, and runs `store`, which
 * stores the rest. Leaves nothing if one of them fails. Throws UsageError, AppError BAD_USER_INPUT (the schema's name),
 * NAME_TAKEN, and what `store` throws.
 */
export async function withArchive<T>(
  target: DumpEnd,
  { header, trailer }: Verified,
  file: string,
  store: () => Promise<T>,
): Promise<T> {
  const { tenantid, schema } = header;
  if (trailer.tables === null || (await digestOf(file)) !== trailer.tables) {
    throw new UsageError(`${file} is not the archive that the export was made with`);
  }
  await inTransaction(target.database.pool, async (client) => {
    await lockProvisioning(client);
    await requireAbsent(client, header);
    await createTenantSchema(client, tenantid, schema);
  });
  try {
    await restoreTables(target, tenantid, file, new Set(trailer.triggers));
    return await store();
  } catch (error) {
    await removeSchema(target, header);
    throw error;
  }
}

/** Otherwise the tables would be restored with the rights of another tenant. */
async function requireAbsent(client: TransactionClient, { tenantid, schema }: Header): Promise<void> {
  const { rows } = await client.query('select from rowpost.tenant where tenantid = $1 or schema = $2', [
    tenantid,
    schema,
  ]);
  if (rows.length > 0) {
    throw new UsageError(
      `this installation already has a tenant ${tenantid}, or one with the schema "${schema}"`,
    );
  }
}

/** Unless the tenant was stored. */
async function removeSchema({ database }: DumpEnd, { tenantid, schema }: Header): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    await lockProvisioning(client);
    const { rows } = await client.query('select from rowpost.tenant where tenantid = $1', [tenantid]);
    if (rows.length === 0) await dropTenantSchema(client, tenantid, schema);
  });
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash).catch((error: unknown) => {
    throw new UsageError(`can't read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  });
  return hash.digest('hex');
}
