import type { Pool } from 'pg';

/** A file of a row, with the location of its bytes. */
export interface StoredFile {
  readonly storagekey: string;
  /** The table's SQL name. */
  readonly target: string;
  /** The row's key by SQL names, as JSON text. */
  readonly key: string;
  readonly filenum: number;
  readonly filename: string;
  readonly mimetype: string;
  readonly size: number;
  /** SHA-256 of the bytes, in base64url. */
  readonly checksum: string;
  readonly objectkey: string;
  readonly createtime: Date;
}

interface FileRow extends Omit<StoredFile, 'size' | 'checksum'> {
  readonly size: string;
  readonly sha256: Buffer;
}

/** A row as recorded by an event. */
export interface RecordedRow {
  readonly target: string;
  /** JSON text, by SQL names. */
  readonly record: string;
}

const STORAGEKEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * @param ofRow the row that the files must belong to, its table by SQL name; any row if omitted
 * @returns files in the order of `storagekeys`; undefined for one that the tenant, or the row, does not have
 */
export async function readFiles(
  pool: Pool,
  tenantid: number,
  storagekeys: readonly string[],
  ofRow?: RecordedRow,
): Promise<readonly (StoredFile | undefined)[]> {
  if (storagekeys.length === 0) return [];
  const { rows } = await pool.query<FileRow>(
    `select storagekey, target, key::text as key, filenum, filename, mimetype, size, sha256, objectkey, createtime
     from rowpost.file f where tenantid = $1 and storagekey = any ($2::uuid[])
       and ($3::text is null or target = $3 and f.key =
         (select jsonb_object_agg(name, $4::jsonb -> name) from jsonb_object_keys(f.key) name))`,
    [
      tenantid,
      storagekeys.filter((key) => STORAGEKEY.test(key)),
      ofRow?.target ?? null,
      ofRow?.record ?? null,
    ],
  );
  const byKey = new Map(rows.map((row) => [row.storagekey, toFile(row)]));
  return storagekeys.map((key) => byKey.get(key));
}

function toFile({ size, sha256, ...row }: FileRow): StoredFile {
  return { ...row, size: Number(size), checksum: sha256.toString('base64url') };
}
