import { inTransaction, type TransactionClient } from '../../db/pool/inTransaction.js';
import { readInChunks } from '../../db/cells/moving/readInChunks.js';
import type { Database } from '../../db/pool/database.js';
import { identifier, sql, statement } from '../../db/sql/sql.js';
import { UsageError } from '../../foundation/errors.js';
import type { KeyRing } from '../../config/secrets.js';
import { ExportWriter, FORMAT, type Header } from './exportFile.js';
import { MOVING_TABLES } from './tenantTables.js';

interface Exported {
  readonly tenantid: number;
  /** Signs the export. */
  readonly keyRing: KeyRing;
  /** For an installation that has the same providers for all tenants: only the tenant's own are written. */
  readonly isSharing?: boolean;
  /** The archive of its tables, and the oids of the service's triggers in it. */
  readonly archive?: { readonly digest: string; readonly triggers: ReadonlySet<string> };
}

/**
 * Writes a consistent snapshot for `importTenant`, including password hashes and encrypted secrets. Throws UsageError if there is
 * no such tenant.
 */
export async function exportTenant(
  pool: Database['pool'],
  { tenantid, keyRing, isSharing = false, archive }: Exported,
  write: (line: string) => Promise<void>,
): Promise<Header> {
  const writer = new ExportWriter(write);
  return inTransaction(pool, async (client) => {
    await client.query(statement`set transaction isolation level repeatable read, read only`);
    await client.query(statement`set local statement_timeout = 0`);
    const header = await readHeader(client, tenantid);
    await writer.header(header);
    for (const { table, rows, ownRows } of MOVING_TABLES) {
      const select =
        (isSharing ? (ownRows ?? rows) : rows) ??
        sql`select row_to_json(t)::text as row from ${identifier('rowpost', table)} t where tenantid = $1`;
      await readInChunks(client, select, [tenantid], async (read) => {
        for (const row of read) await writer.row(table, row);
      });
    }
    await writer.end(keyRing, { tables: archive?.digest ?? null, triggers: [...(archive?.triggers ?? [])] });
    return header;
  });
}

async function readHeader(client: TransactionClient, tenantid: number): Promise<Header> {
  const { rows } = await client.query<Omit<Header, 'format' | 'migration'>>(
    statement`select tenantid, name, schema, adopted, suspended from rowpost.tenant where tenantid = $1 and schema is not null`,
    [tenantid],
  );
  const [tenant] = rows;
  if (!tenant) throw new UsageError(`there is no tenant ${tenantid}: see "rowpost tenant list"`);
  return { format: FORMAT, ...tenant, migration: await newestMigration(client) };
}

export async function newestMigration(client: Pick<TransactionClient, 'query'>): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    statement`select max(name) as name from rowpost.migration`,
  );
  return rows[0]?.name ?? '';
}
