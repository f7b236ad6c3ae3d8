import type { Pool } from 'pg';
import { AppError } from '../../foundation/errors.js';
import { equal } from '../catalog/operators.js';
import { readColumnTypes } from '../catalog/typeSql.js';
import { runStatement } from '../pool/runStatement.js';
import { constant, identifier, join, quoted, sql, statement } from '../sql/sql.js';
import type { Transactions } from '../pool/transactions.js';

/** A sweeper's lease on its objects: if it dies, others take over after this time. */
const SWEEPING_MINUTES = 2;
/** How long completed and expired uploads are kept, to respond to repeated requests. */
const UPLOAD_MEMORY_DAYS = 1;

/**
 * Claims expired objects without a file. From now on no file can claim them; call `deleteSwept` once they are gone from
 * the storage.
 */
export async function takeObjects(pool: Pool, most: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ objectkey: string }>(
    statement`update rowpost.file_object set sweeping = true, due = now() + interval '${SWEEPING_MINUTES} minutes'
     where objectkey in (
       select objectkey from rowpost.file_object where due <= now() order by due limit $1 for update skip locked)
     returning objectkey`,
    [most],
  );
  return rows.map((row) => row.objectkey);
}

export async function deleteSwept(pool: Pool, objectkeys: readonly string[]): Promise<void> {
  await pool.query('delete from rowpost.file_object where objectkey = any ($1) and sweeping', [objectkeys]);
}

/**
 * Deletes uploads that are past, a part of them: whoever has made very many must not keep all others from being deleted.
 * @returns how many were deleted
 */
export async function pruneUploads(pool: Pool, most: number): Promise<number> {
  const { rowCount } = await pool.query(
    statement`delete from rowpost.upload where storagekey in (
       select storagekey from rowpost.upload where expires < now() - interval '${UPLOAD_MEMORY_DAYS} days'
       order by expires limit $1 for update skip locked)`,
    [most],
  );
  return rowCount ?? 0;
}

/** Files of one table, to be compared with its rows. */
export interface FilesOfTable {
  readonly tenantid: number;
  /** Null if the tenant was deleted. */
  readonly schema: string | null;
  readonly target: string;
  readonly storagekeys: readonly string[];
  /** One per storage key, by SQL names, as JSON texts. */
  readonly keys: readonly string[];
}

/** Of a page of files, as PostgreSQL stores their keys: up to 300 times as much once they are decompressed. */
const MAX_STORED_KEY_BYTES = 131_072;

/** A page of files in the order of their storage keys, by table. @returns none after the last page */
export async function filesAfter(
  pool: Pool,
  storagekey: string,
  most: number,
): Promise<{ readonly tables: readonly FilesOfTable[]; readonly last: string | undefined }> {
  const { rows } = await pool.query<FilesOfTable>(
    statement`select f.tenantid, t.schema, f.target, array_agg(f.storagekey::text) as storagekeys,
       array_agg(f.key::text) as keys
     from (
       select *, row_number() over page as number, sum(pg_column_size(key)) over page as bytes
       from (select * from rowpost.file where storagekey > $1 order by storagekey limit $2) next
       window page as (order by storagekey)
     ) f left join rowpost.tenant t using (tenantid)
     where f.number = 1 or f.bytes <= ${MAX_STORED_KEY_BYTES}
     group by f.tenantid, t.schema, f.target`,
    [storagekey, most],
  );
  const last = rows
    .flatMap((row) => row.storagekeys)
    .sort()
    .at(-1);
  return { tables: rows, last };
}

/** The storage keys of files whose row is gone, or why they are unknown. */
export type Orphans =
  | { readonly ok: true; readonly storagekeys: readonly string[] }
  | { readonly ok: false; readonly error: AppError };

/**
 * The files whose row is gone, read as the tenant. They stay unknown if its table can't be read, for example because its key is not
 * the recorded one, its owner has revoked the right to, or a view in its place fails.
 */
export async function findOrphans(
  pool: Pool,
  transactions: Transactions,
  { tenantid, schema, target, storagekeys, keys }: FilesOfTable,
): Promise<Orphans> {
  if (schema === null) return { ok: true, storagekeys };
  const types = await readColumnTypes(pool, quoted(schema, target));
  if (types.size === 0) return { ok: true, storagekeys };
  const table = identifier(schema, target);
  const same = Object.keys(JSON.parse(keys[0] ?? '{}') as object).map((name) =>
    equal(identifier('t', name), identifier('w', name), types.get(name)),
  );
  const orphans = sql`
    select coalesce(pg_catalog.json_agg(k.n), '[]')::pg_catalog.text
    from pg_catalog.unnest(${constant(keys, 'json[]')}) with ordinality k(key, n),
      lateral pg_catalog.json_populate_record(null::${table}, k.key) w
    where not exists (select from ${table} t where ${join(same, ' and ')})`;
  try {
    const rows = await runStatement(transactions, tenantid, 'read', orphans);
    const places = JSON.parse(rows[0]?.[0] ?? '[]') as number[];
    return { ok: true, storagekeys: places.flatMap((place) => storagekeys[place - 1] ?? []) };
  } catch (error) {
    // Any error may be of the tenant's making: it can also end its own session.
    if (error instanceof AppError) return { ok: false, error };
    throw error;
  }
}

/**
 * Marks the checked files without a row, and deletes those that have been marked for long enough.
 * @returns how many were deleted
 */
export async function deleteOrphans(
  pool: Pool,
  seen: readonly string[],
  rowless: readonly string[],
  orphanGraceSeconds: number,
): Promise<number> {
  // A tenant's open transaction may have locked some: they are checked again next time.
  await pool.query(
    `update rowpost.file set rowless_since = case when storagekey = any ($2::uuid[]) then now() end
     where storagekey in (
       select storagekey from rowpost.file
       where storagekey = any ($1::uuid[]) and (rowless_since is null) = (storagekey = any ($2::uuid[]))
       for update skip locked)`,
    [seen, rowless],
  );
  const { rows } = await pool.query<{ count: number }>(
    `with gone as (
       delete from rowpost.file where storagekey in (
         select storagekey from rowpost.file
         where storagekey = any ($1::uuid[]) and rowless_since <= now() - make_interval(secs => $2)
         for update skip locked)
       returning objectkey
     ), objects as (insert into rowpost.file_object (objectkey, due) select objectkey, now() from gone)
     select count(*)::int as count from gone`,
    [rowless, orphanGraceSeconds],
  );
  return rows[0]?.count ?? 0;
}
