import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { readFiles, type RecordedRow, type StoredFile } from '../../db/files/files.js';
import type { PendingUpload } from '../../db/files/uploads.js';
import { runStatement } from '../../db/pool/runStatement.js';
import type { Principal } from '../../db/roles/principal.js';
import type { Sql } from '../../db/sql/sql.js';
import { toAppError } from '../../db/sql/toAppError.js';
import { AppError, type ErrorCode } from '../../foundation/errors.js';
import type { Engine } from '../engine.js';
import { principalInputs, type Capability } from '../policy/policy.js';
import { reachOf } from '../policy/reachOf.js';
import { reachedRow, recordFile, T } from './fileStatements.js';

/** A row that has files: its table's SQL name, and its key by SQL names as JSON text. */
export interface FileRow {
  readonly target: string;
  readonly key: string;
}

/** Describes bytes that were stored durably. */
export interface StoredBytes {
  readonly objectkey: string;
  readonly mimetype: string;
  readonly size: number;
  readonly sha256: Buffer;
}

/** A file as events and responses show it, without its URL. */
export interface RecordedFile {
  readonly storagekey: string;
  readonly filenum: number;
  readonly filename: string;
  readonly mimetype: string;
  readonly size: number;
  readonly createtime: string;
}

/** Who wants to do what with files of these tables. */
export interface FileAccess {
  readonly engine: Engine;
  readonly principal: Principal;
  readonly catalog: Catalog;
  readonly capability: Capability;
}

/** Throws AppError PERMISSION_DENIED, NOT_FOUND if the principal currently has no such access to the row. */
export async function requireFileRow(access: FileAccess, row: FileRow): Promise<void> {
  const table = fileTable(access.catalog, row);
  const reach = await requireReach(access, table);
  const found = await run(
    access,
    'read',
    reachedRow(table, () => row.key, reach),
  );
  if (found === undefined) throw rowNotFound();
}

/** Without the files that the principal can't access with this capability, or that belong to another row. Throws AppError. */
export async function findReachedFiles(
  access: FileAccess,
  storagekeys: readonly string[],
  ofRow: RecordedRow | undefined,
): Promise<readonly (StoredFile | undefined)[]> {
  const { engine, principal, catalog } = access;
  const row = ofRow && { ...ofRow, target: catalog.tables.get(ofRow.target)?.sqlName ?? '' };
  const files = await readFiles(engine.pool, principal.tenantid, storagekeys, row).catch((error: unknown) => {
    throw toAppError(error);
  });
  const reached: (StoredFile | undefined)[] = [];
  for (const file of files) {
    const isReached = file && (await reaches(access, file));
    reached.push(isReached ? file : undefined);
  }
  return reached;
}

async function reaches(access: FileAccess, row: FileRow): Promise<boolean> {
  try {
    await requireFileRow(access, row);
    return true;
  } catch (error) {
    if (error instanceof AppError && OUT_OF_REACH.has(error.code)) return false;
    throw error;
  }
}

const OUT_OF_REACH: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'PERMISSION_DENIED', 'UNKNOWN_TABLE']);

/**
 * Records a file whose bytes are stored durably, with its event, in one transaction. Throws AppError PERMISSION_DENIED;
 * NOT_FOUND if the row is gone; FILE_URL_EXPIRED if the attempt was abandoned; OUTCOME_UNKNOWN. Only after the last may
 * anything have been recorded.
 */
export async function recordStoredFile(
  access: FileAccess,
  upload: PendingUpload,
  bytes: StoredBytes,
): Promise<RecordedFile> {
  const table = fileTable(access.catalog, upload);
  const reach = await requireReach(access, table);
  const statement = recordFile(
    table,
    {
      keyJson: () => upload.key,
      roleid: () => access.principal.roleid,
      storagekey: () => upload.storagekey,
      objectkey: () => bytes.objectkey,
      mimetype: () => bytes.mimetype,
      size: () => bytes.size,
      sha256: () => bytes.sha256,
    },
    reach,
  );
  const recorded = await run(access, 'write', statement);
  access.engine.onCommitted?.();
  return JSON.parse(recorded ?? 'null') as RecordedFile;
}

function fileTable(catalog: Catalog, { target }: FileRow): Table {
  const table = [...catalog.tables.values()].find((item) => item.sqlName === target);
  if (table?.fileColumn) return table;
  throw new AppError('UNKNOWN_TABLE', `There is no table ${target} with files.`, {
    details: { table: target },
  });
}

async function requireReach(
  { engine, principal, catalog, capability }: FileAccess,
  table: Table,
): Promise<Sql | 'all'> {
  const reach = await reachOf(engine, principal, catalog, { capability, table, alias: T });
  if (reach !== 'none') return reach;
  throw new AppError('PERMISSION_DENIED', `This role may not ${capability} files of ${table.name}.`, {
    details: { table: table.name, capability },
  });
}

async function run(
  { engine: { transactions }, principal }: FileAccess,
  mode: 'read' | 'write',
  piece: Sql,
): Promise<string | undefined> {
  const inputs = { variables: {}, principal: principalInputs(principal) };
  const rows = await runStatement(transactions, principal.tenantid, mode, piece, inputs);
  return rows[0]?.[0] ?? undefined;
}

function rowNotFound(): AppError {
  return new AppError('NOT_FOUND', 'The row of the file no longer exists, or this role may not access it.');
}
