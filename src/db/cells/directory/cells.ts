import type pg from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { inTransaction } from '../../pool/inTransaction.js';
import { ID_RANGE_SIZE } from '../../tenants/idRange.js';
import { copyDirectory } from './copyDirectory.js';
import type { Directory } from './directory.js';

export interface Cell {
  readonly name: string;
  /** The address of its web processes. */
  readonly baseUrl: string;
  /** Its ids of tenants and roles start at this times ten million. */
  readonly idRange: number;
}

/**
 * Enters a cell in the directory, with its signing keys and its providers for all tenants, and copies what others have entered.
 * Idempotent. Throws UsageError when the name or the id range is another cell's.
 */
export async function joinDirectory(directory: Directory, cellPool: pg.Pool, cell: Cell): Promise<void> {
  await inTransaction(directory.pool, async (client) => {
    // One cell at a time: the first one's signing key becomes that of all.
    await client.query('lock table rowpost_directory.cell in share row exclusive mode');
    const { rows } = await client.query<{ name: string; id_range: number }>(
      'select name, id_range from rowpost_directory.cell where name = $1 or id_range = $2',
      [cell.name, cell.idRange],
    );
    const other = rows.find(({ name, id_range: range }) => name !== cell.name || range !== cell.idRange);
    if (other) {
      throw new UsageError(
        `the directory has the cell "${other.name}" with the id range ${other.id_range}: names and id ranges are used once`,
      );
    }
    await client.query(
      `insert into rowpost_directory.cell (name, base_url, id_range) values ($1, $2, $3)
       on conflict (name) do update set base_url = excluded.base_url where cell.base_url <> excluded.base_url`,
      [cell.name, cell.baseUrl, cell.idRange],
    );
    const keys = await cellPool.query(
      'select kid, public_jwk, private_jwk_encrypted, createtime from rowpost.signing_key',
    );
    await client.query(
      `insert into rowpost_directory.signing_key select * from json_populate_recordset(null::rowpost_directory.signing_key, $1)
       on conflict do nothing`,
      [JSON.stringify(keys.rows)],
    );
    await enterProviders(client, cellPool, cell.idRange);
  });
  await copyDirectory(directory, cellPool, cell.name);
}

/** Each cell enters those that were created in it. */
async function enterProviders(client: pg.ClientBase, cellPool: pg.Pool, idRange: number): Promise<void> {
  const { rows } = await cellPool.query(
    `select providerid, to_jsonb(p) as provider from rowpost.oidc_providers p
     where tenantid is null and providerid / ${ID_RANGE_SIZE} = $1`,
    [idRange],
  );
  await client.query(
    `delete from rowpost_directory.oidc_provider where providerid / ${ID_RANGE_SIZE} = $1 and providerid <> all ($2)`,
    [idRange, rows.map(({ providerid }: { providerid: number }) => providerid)],
  );
  await client.query(
    `insert into rowpost_directory.oidc_provider
     select * from json_populate_recordset(null::rowpost_directory.oidc_provider, $1)
     on conflict (providerid) do update set provider = excluded.provider
     where oidc_provider.provider <> excluded.provider`,
    [JSON.stringify(rows)],
  );
}

/** Called after a rotation in one cell: all cells sign with the new key, and forget the deleted ones. */
export async function enterSigningKeys(
  { pool }: Directory,
  cellPool: pg.Pool,
  deleted: readonly string[],
): Promise<void> {
  const { rows } = await cellPool.query(
    'select kid, public_jwk, private_jwk_encrypted, createtime from rowpost.signing_key',
  );
  await inTransaction(pool, async (client) => {
    await client.query(
      `insert into rowpost_directory.signing_key select * from json_populate_recordset(null::rowpost_directory.signing_key, $1)
       on conflict do nothing`,
      [JSON.stringify(rows)],
    );
    await client.query('delete from rowpost_directory.signing_key where kid = any ($1)', [deleted]);
  });
}

export async function readCells({ pool }: Directory): Promise<readonly Cell[]> {
  const { rows } = await pool.query<Cell>(
    'select name, base_url as "baseUrl", id_range as "idRange" from rowpost_directory.cell order by id_range',
  );
  return rows;
}

export async function readMovedTenants({
  pool,
}: Directory): Promise<readonly { tenantid: number; cell: string }[]> {
  const { rows } = await pool.query<{ tenantid: number; cell: string }>(
    'select tenantid, cell from rowpost_directory.tenant order by tenantid',
  );
  return rows;
}

/** @returns this installation's own entry; undefined when it has not joined a directory. */
export async function readOwnCell(cellPool: pg.Pool): Promise<Cell | undefined> {
  const { rows } = await cellPool.query<Cell>(
    'select name, base_url as "baseUrl", id_range as "idRange" from rowpost.cell where own',
  );
  return rows[0];
}
