import type { Pool } from 'pg';

/** An upload created by upload_<t> whose bytes have not arrived yet. */
export interface PendingUpload {
  readonly storagekey: string;
  readonly tenantid: number;
  /** The role that requested it. */
  readonly roleid: number;
  /** The table's SQL name. */
  readonly target: string;
  /** The row's key by SQL names, as JSON text. */
  readonly key: string;
  readonly filename: string;
  readonly mimetype: string | null;
  /** As declared, in bytes. */
  readonly size: number | null;
}

export type UploadStart =
  | { readonly state: 'begun'; readonly upload: PendingUpload }
  | { readonly state: 'expired' | 'done' | 'in_progress' };

interface BeginRow {
  state: UploadStart['state'];
  roleid: number;
  target: string;
  key: string;
  filename: string;
  mimetype: string | null;
  size: string | null;
}

/**
 * Claims an upload, and records the object before its first byte is written. One attempt at a time may proceed.
 * @param leaseMs after which the object counts as abandoned, unless `extendObjectLeases` is called
 */
export async function beginUpload(
  pool: Pool,
  { storagekey, tenantid, objectkey }: { storagekey: string; tenantid: number; objectkey: string },
  leaseMs: number,
): Promise<UploadStart> {
  const { rows } = await pool.query<BeginRow>(
    `select * from rowpost.begin_upload($1, $2, $3, $4::int * interval '1 ms')`,
    [storagekey, tenantid, objectkey, leaseMs],
  );
  const [row] = rows;
  if (!row) throw new Error('begin_upload returned nothing');
  const { state, size, ...rest } = row;
  if (state !== 'begun') return { state };
  return { state, upload: { ...rest, storagekey, tenantid, size: size === null ? null : Number(size) } };
}

/**
 * Extends the lease of objects.
 * @returns those still held
 */
export async function extendObjectLeases(
  pool: Pool,
  objectkeys: readonly string[],
  leaseMs: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ objectkey: string }>(
    `update rowpost.file_object set due = now() + $2::int * interval '1 ms'
     where objectkey = any ($1) and not sweeping returning objectkey`,
    [objectkeys, leaseMs],
  );
  return rows.map((row) => row.objectkey);
}

/**
 * Abandons an object whose upload failed: no file can claim it, and the next attempt need not wait. The storage may
 * still be completing the aborted write, so the sweeper removes the object again after a while.
 * @returns false if a file has claimed it: then it must stay
 */
export async function abandonObject(pool: Pool, objectkey: string, againInMs: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update rowpost.file_object set sweeping = true, due = now() + $2::int * interval '1 ms'
     where objectkey = $1`,
    [objectkey, againInMs],
  );
  return rowCount === 1;
}

/** Removes the record of an object that was never written. */
export async function forgetObject(pool: Pool, objectkey: string): Promise<void> {
  await pool.query('delete from rowpost.file_object where objectkey = $1', [objectkey]);
}
