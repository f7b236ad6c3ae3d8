import { inTransaction, type TransactionClient } from '../../db/connection/inTransaction.js';
import { readInChunks } from '../../db/moving/readInChunks.js';
import { advanceSequences } from '../../db/tenants/idRange.js';
import { restoreLostRoles } from '../../db/tenants/lostRoles.js';
import type { Database } from '../../db/connection/database.js';
import { isUniqueViolation } from '../../db/sqlState.js';
import { quoted } from '../../db/sql.js';
import { UsageError } from '../../errors.js';
import type { KeyRing } from '../../secrets.js';
import { decrypted, SECRET_COLUMNS } from '../storedSecrets.js';
import { MOVING_TABLES } from './tenantTables.js';

// A tenant except its own tables, as JSON lines: a header, one line per row, and a trailer with the number of rows. The
// tables are moved with pg_dump. Ids are preserved, because filters, templates and clients refer to them.

const FORMAT = 'rowpost tenant 1';
const ROWS_AT_ONCE = 500;

interface Header {
  readonly format: string;
  readonly tenantid: number;
  readonly name: string;
  readonly schema: string;
  readonly suspended: boolean;
  /** The latest applied migration: rows can only be imported into tables of the same release. */
  readonly migration: string;
}

type Line = Header | { readonly table: string; readonly row: object } | { readonly rows: number };

/**
 * Writes a consistent snapshot for `importTenant`, including password hashes and encrypted secrets.
 * @param isSharing for an installation that has the same providers for all tenants: only the tenant's own are written
 * Throws UsageError if there is no such tenant.
 */
export async function exportTenant(
  pool: Database['pool'],
  tenantid: number,
  write: (line: string) => Promise<void>,
  isSharing = false,
): Promise<Header> {
  return inTransaction(pool, async (client) => {
    await client.query('set transaction isolation level repeatable read, read only');
    await client.query('set local statement_timeout = 0');
    const header = await readHeader(client, tenantid);
    await write(JSON.stringify(header));
    let count = 0;
    for (const { table, rows, ownRows } of MOVING_TABLES) {
      const select =
        (isSharing ? (ownRows ?? rows) : rows) ??
        `select row_to_json(t)::text as row from rowpost.${quoted(table)} t where tenantid = $1`;
      await readInChunks(client, select, [tenantid], async (read) => {
        for (const row of read) await write(`{"table":${JSON.stringify(table)},"row":${row}}`);
        count += read.length;
      });
    }
    await write(JSON.stringify({ rows: count }));
    return header;
  });
}

async function readHeader(client: TransactionClient, tenantid: number): Promise<Header> {
  const { rows } = await client.query<Omit<Header, 'format' | 'migration'>>(
    'select tenantid, name, schema, suspended from rowpost.tenant where tenantid = $1 and schema is not null',
    [tenantid],
  );
  const [tenant] = rows;
  if (!tenant) throw new UsageError(`there is no tenant ${tenantid}: see "rowpost tenant list"`);
  return { format: FORMAT, ...tenant, migration: await newestMigration(client) };
}

async function newestMigration(client: TransactionClient): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select max(name) as name from rowpost.migration');
  return rows[0]?.name ?? '';
}

/** Where an imported tenant is still held, and the move that brings it. */
interface Arrival {
  readonly from: string;
  readonly move: number;
}

/** The keys of the source and the target installation. */
interface Keys {
  readonly from: KeyRing;
  readonly to: KeyRing;
}

/**
 * Stores an export, all or nothing, re-encrypts its secrets and creates the tenant's database role.
 * Throws UsageError with a message for the operator.
 * @param arrival of a tenant that is not served yet
 */
export async function importTenant(
  database: Database,
  keys: Keys,
  openLines: () => AsyncIterable<string>,
  arrival?: Arrival,
): Promise<Header> {
  const { pool, tenants } = database;
  const header = await inTransaction(pool, async (client) => {
    await client.query('set local statement_timeout = 0');
    // Opened only now: a line reader drops lines that arrive before anyone listens.
    const imported = await insertLines(client, openLines());
    await advanceSequences(
      client,
      MOVING_TABLES.map(({ table }) => table),
    );
    await encryptAnew(client, keys, imported.tenantid);
    await client.query('update rowpost.tenant set moved_to = $2, move = $3 where tenantid = $1', [
      imported.tenantid,
      arrival?.from ?? null,
      arrival?.move ?? 0,
    ]);
    return imported;
  });
  const { problems } = await restoreLostRoles(pool);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  await tenants.settle(header.tenantid, header.schema);
  return header;
}

async function insertLines(client: TransactionClient, lines: AsyncIterable<string>): Promise<Header> {
  let header: Header | undefined;
  let table = '';
  let batch: string[] = [];
  let count = 0;
  let isWhole = false;
  const insertBatch = async (): Promise<void> => {
    if (header && batch.length > 0) await insertRows(client, header.tenantid, table, batch);
    count += batch.length;
    batch = [];
  };
  for await (const text of lines) {
    const line = readLine(text);
    if (header === undefined) {
      header = await checkHeader(client, line);
    } else if ('rows' in line) {
      await insertBatch();
      isWhole = line.rows === count;
    } else if ('row' in line) {
      if (line.table !== table || batch.length === ROWS_AT_ONCE) await insertBatch();
      table = line.table;
      batch.push(text);
    }
  }
  if (header === undefined || !isWhole) throw new UsageError('the export is incomplete: create it again');
  return header;
}

function readLine(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    throw new UsageError(
      'this is not an export of a tenant, or an incomplete one: create it with "rowpost tenant export"',
    );
  }
}

async function checkHeader(client: TransactionClient, line: Line): Promise<Header> {
  if (!('format' in line) || line.format !== FORMAT) {
    throw new UsageError('this is not an export of a tenant: create it with "rowpost tenant export"');
  }
  const here = await newestMigration(client);
  if (line.migration !== here) {
    throw new UsageError(
      `the export was made at migration ${line.migration}, and this installation is at ${here}: bring both to the same release first`,
    );
  }
  const { rows } = await client.query('select from pg_catalog.pg_namespace where nspname = $1', [
    line.schema,
  ]);
  if (rows.length === 0) {
    throw new UsageError(`the database has no schema "${line.schema}": restore the tenant's tables first`);
  }
  return line;
}

/** PostgreSQL parses the lines: numbers in JSON columns may have more digits than JavaScript keeps. */
async function insertRows(
  client: TransactionClient,
  tenantid: number,
  table: string,
  lines: readonly string[],
): Promise<void> {
  if (!MOVING_TABLES.some((moving) => moving.table === table)) {
    throw new UsageError(`an export can't contain rows of "${table}"`);
  }
  const name = `rowpost.${quoted(table)}`;
  try {
    const { rowCount } = await client.query(
      `insert into ${name} select r.* from unnest($1::json[]) with ordinality l(line, n),
         json_populate_record(null::${name}, line -> 'row') r where r.tenantid = $2 order by n`,
      [lines, tenantid],
    );
    if (rowCount !== lines.length) throw new UsageError(`the export has a row of another tenant in ${table}`);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const { detail } = error as { detail?: string };
    throw new UsageError(
      `this installation already has such a row in ${table} (${detail ?? 'unique'}). Ids are preserved, so installations that exchange tenants need separate id ranges: see "rowpost release --id-range"`,
    );
  }
}

async function encryptAnew(client: TransactionClient, { from, to }: Keys, tenantid: number): Promise<void> {
  const unreadable: string[] = [];
  for (const { table, column, key, context, nameOf } of SECRET_COLUMNS) {
    if (!MOVING_TABLES.some((moving) => moving.table === table)) continue;
    const { rows } = await client.query<Parameters<typeof context>[0] & { readonly ciphertext: string }>(
      `select ${key.join(', ')}, ${column} as ciphertext from rowpost.${table}
       where tenantid = $1 and ${column} <> ''`,
      [tenantid],
    );
    for (const row of rows) {
      const plaintext = decrypted(from, row.ciphertext, context(row));
      if (plaintext === undefined) {
        unreadable.push(nameOf(row));
        continue;
      }
      await client.query(
        `update rowpost.${table} set ${column} = $1 where ${key.map((name, index) => `${name} = $${index + 2}`).join(' and ')}`,
        [to.encrypt(plaintext, context(row)), ...key.map((name) => row[name])],
      );
    }
  }
  if (unreadable.length > 0) {
    throw new UsageError(
      `SOURCE_SECRET_KEYS, or SECRET_KEYS without it, lacks the key of the ${unreadable.join(', ')}: set it to the SECRET_KEYS of the installation that the tenant comes from`,
    );
  }
}
