import type { Database } from '../../db/pool/database.js';
import { inTransaction, type TransactionClient } from '../../db/pool/inTransaction.js';
import { repairCapture } from '../../db/capture/capture.js';
import { buildCatalog } from '../../db/catalog/buildCatalog.js';
import { readSchema } from '../../db/catalog/introspect.js';
import { isRefusedRow, isUniqueViolation } from '../../db/sql/sqlState.js';
import { identifier, join, statement } from '../../db/sql/sql.js';
import { grantSchema } from '../../db/tenants/adoption.js';
import { advanceSequences, hasIdsAhead } from '../../db/tenants/idRange.js';
import { deleteRowsLeft, LEFT_TABLES } from '../../db/tenants/rowsOfDeleted.js';
import { UsageError } from '../../foundation/errors.js';
import type { KeyRing } from '../../config/secrets.js';
import { decrypted, SECRET_COLUMNS } from '../storedSecrets.js';
import { readRows, type Header, type ReadExport, type Verified } from './exportFile.js';
import { checkImportedRows, type ImportRules } from './importedRows.js';
import { newestMigration } from './tenantExport.js';
import { lockProvisioning } from './tenants.js';
import { MOVING_TABLES } from './tenantTables.js';

const ROWS_AT_ONCE = 500;
const TABLES = MOVING_TABLES.map(({ table }) => table);

/** Where an imported tenant is still held, and the move that brings it. */
interface Arrival {
  readonly from: string;
  readonly move: number;
}

export interface Import {
  readonly verified: Verified;
  readonly openLines: ReadExport['openLines'];
  /** The keys of the source and the target installation. */
  readonly keys: { readonly from: KeyRing; readonly to: KeyRing };
  /** Undefined for what another cell held until now: its clients' input was checked there, and the tenant waits. */
  readonly rules?: ImportRules;
  /** Whether another installation made it. */
  readonly isForeign: boolean;
  /** Of a tenant that is not served yet. */
  readonly arrival?: Arrival;
}

/**
 * Stores a verified export, all or nothing, and re-encrypts its secrets. The schema exists: the tenant's role owns it, unless it
 * is an application's. Throws UsageError with a message for the operator.
 */
export async function importTenant(database: Database, given: Import): Promise<Header> {
  const { pool, tenants } = database;
  const { tenantid, schema } = given.verified.header;
  await inTransaction(pool, (client) => store(client, database, given));
  await tenants.settle(tenantid, schema);
  // The service's triggers are not in the archive.
  const catalog = buildCatalog(schema, await readSchema(pool, schema));
  await repairCapture(pool, await tenants.names(), tenantid, catalog, true);
  return given.verified.header;
}

async function store(client: TransactionClient, { tenants }: Database, given: Import): Promise<void> {
  const { verified, keys, rules, isForeign, arrival } = given;
  const { header } = verified;
  const { tenantid, schema } = header;
  await lockProvisioning(client);
  await client.query(statement`set local statement_timeout = 0`);
  await requireRelease(client, header);
  for (const left of LEFT_TABLES) {
    const { table } = left;
    if (TABLES.includes(table)) await mapImportViolations(table, deleteRowsLeft(client, left, tenantid));
  }
  await insertAll(client, given);
  // That of the tenant to its root role, which comes later.
  await mapImportViolations('tenant', client.query(statement`set constraints all immediate`));
  await requireTenantRow(client, header);
  if (header.adopted) await grantSchema(client, { tenantid, schema });
  else await requireOwnSchema(client, schema, (await tenants.names()).tenant(tenantid));
  if (rules) await checkImportedRows(client, tenantid, rules);
  if (isForeign && (await hasIdsAhead(client, TABLES, tenantid))) {
    throw new UsageError(`the export has ids of this installation's own range. ${SEPARATE_RANGES}`);
  }
  if (!arrival) await client.query(RECHOOSE_REDIRECT_URIS, [tenantid]);
  await advanceSequences(client, TABLES);
  await encryptAnew(client, keys, tenantid);
  await client.query(statement`update rowpost.tenant set moved_to = $2, move = $3 where tenantid = $1`, [
    tenantid,
    arrival?.from ?? null,
    arrival?.move ?? 0,
  ]);
}

/** The plain one may be another token endpoint's here. All cells, between which tenants move, have one address. */
const RECHOOSE_REDIRECT_URIS = statement`
  update rowpost.oidc_config c set redirect_uri = '/oidc/' || c.confid
  from rowpost.oidc_providers p
  where p.providerid = c.providerid and c.tenantid = $1 and c.redirect_uri = '/oidc' and not c.requires_iss
    and not rowpost.take_plain_redirect(p.token_uri, c.confid)`;

const SEPARATE_RANGES =
  'Ids are preserved, so installations that exchange tenants need separate id ranges: see "rowpost release --id-range"';

async function requireRelease(client: TransactionClient, { migration }: Header): Promise<void> {
  const here = await newestMigration(client);
  if (migration === here) return;
  throw new UsageError(
    `the export was made at migration ${migration}, and this installation is at ${here}: bring both to the same release first`,
  );
}

async function insertAll(client: TransactionClient, { verified, openLines }: Import): Promise<void> {
  const { tenantid } = verified.header;
  let table = '';
  let batch: string[] = [];
  const insertBatch = async (): Promise<void> => {
    if (batch.length > 0) await insertRows(client, tenantid, table, batch);
    batch = [];
  };
  for await (const row of readRows(openLines, verified)) {
    if (row.table !== table || batch.length === ROWS_AT_ONCE) await insertBatch();
    table = row.table;
    batch.push(row.text);
  }
  await insertBatch();
}

/** PostgreSQL parses the lines: numbers in JSON columns may have more digits than JavaScript keeps. */
async function insertRows(
  client: TransactionClient,
  tenantid: number,
  table: string,
  lines: readonly string[],
): Promise<void> {
  if (!TABLES.includes(table)) throw new UsageError(`an export can't contain rows of "${table}"`);
  const name = identifier('rowpost', table);
  const { rowCount } = await mapImportViolations(
    table,
    client.query(
      statement`insert into ${name} select r.* from unnest($1::json[]) with ordinality l(line, n),
         json_populate_record(null::${name}, line -> 'row') r where r.tenantid = $2 order by n`,
      [lines, tenantid],
    ),
  );
  if (rowCount !== lines.length) throw new UsageError(`the export has a row of another tenant in ${table}`);
}

async function mapImportViolations<T>(table: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const { detail, message } = error as { detail?: string; message: string };
    if (isUniqueViolation(error)) {
      throw new UsageError(
        `this installation already has such a row in ${table} (${detail ?? 'unique'}). ${SEPARATE_RANGES}`,
      );
    }
    if (!isRefusedRow(error)) throw error;
    throw new UsageError(`the export has a row of ${table} that can't be stored: ${message}`);
  }
}

/** What was checked and made before the rows were read is what they say. */
async function requireTenantRow(client: TransactionClient, header: Header): Promise<void> {
  const { tenantid, name, schema, adopted, suspended } = header;
  const { rowCount } = await client.query(
    statement`select from rowpost.tenant where tenantid = $1 and name = $2 and schema = $3 and adopted = $4 and suspended = $5
      and root_roleid is not null`,
    [tenantid, name, schema, adopted, suspended],
  );
  if (rowCount !== 1) throw new UsageError('the row of the tenant differs from the header of the export');
}

async function requireOwnSchema(client: TransactionClient, schema: string, role: string): Promise<void> {
  const { rowCount } = await client.query(
    statement`select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
      where n.nspname = $1::text::name and r.rolname = $2::text::name`,
    [schema, role],
  );
  if (rowCount !== 1) throw new UsageError(`the schema "${schema}" does not belong to the tenant's role`);
}

async function encryptAnew(
  client: TransactionClient,
  { from, to }: Import['keys'],
  tenantid: number,
): Promise<void> {
  const unreadable: string[] = [];
  for (const { table, column, key, context, nameOf } of SECRET_COLUMNS) {
    if (!TABLES.includes(table)) continue;
    const [of, secret] = [identifier('rowpost', table), identifier(column)];
    const { rows } = await client.query<Parameters<typeof context>[0] & { readonly ciphertext: string }>(
      statement`select ${join(
        key.map((name) => identifier(name)),
      )}, ${secret} as ciphertext from ${of} where tenantid = $1 and ${secret} <> ''`,
      [tenantid],
    );
    for (const row of rows) {
      const plaintext = decrypted(from, row.ciphertext, context(row));
      if (plaintext === undefined) {
        unreadable.push(nameOf(row));
        continue;
      }
      const [first = '', second = first] = key;
      await client.query(
        statement`update ${of} set ${secret} = $1 where ${identifier(first)} = $2 and ${identifier(second)} = $3`,
        [
          to.encrypt(plaintext, context(row)),
          ...[first, second].map((name) => row[name as keyof typeof row]),
        ],
      );
    }
  }
  if (unreadable.length > 0) {
    throw new UsageError(
      `SOURCE_SECRET_KEYS, or SECRET_KEYS without it, lacks the key of the ${unreadable.join(', ')}: set it to the SECRET_KEYS of the installation that the tenant comes from`,
    );
  }
}
