import type { Database } from '../db/pool/database.js';
import {
  filesAfter,
  findOrphans,
  deleteSwept,
  pruneUploads,
  deleteOrphans,
  takeObjects,
  type FilesOfTable,
} from '../db/files/sweepFiles.js';
import type { FileStorage } from '../files/storage/fileStorage.js';
import type { Logger } from '../foundation/observability/log.js';

export interface SweepDeps {
  readonly database: Pick<Database, 'pool' | 'transactions'>;
  readonly storage: FileStorage;
  readonly log: Logger;
  /** Grace period for files whose row was deleted by other means than the API. */
  readonly orphanGraceSeconds: number;
}

const OBJECT_CHUNK_SIZE = 100;
const UPLOAD_CHUNK_SIZE = 1_000;
const UPLOAD_CHUNKS = 100;
/** Files compared with their rows per run; the next run continues after them. */
const FILE_SCAN_LIMIT = 2_000;
/** Beyond this, a tenant's other tables are left to a later run: reading a table runs code of its tenant. */
const SLOW_MS = 1_000;
const MIN_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * Removes what interrupted uploads, deleted files and deleted rows left behind. Any number of sweepers may run: each
 * object is claimed by one, and claims that expire are taken over by others.
 */
export class FileSweeper {
  #after = MIN_UUID;

  constructor(private readonly deps: SweepDeps) {}

  async sweep(): Promise<void> {
    // First what depends on no table of a tenant.
    await this.#removeObjects();
    await this.#pruneUploads();
    await this.#compareWithRows();
    await this.#removeObjects();
  }

  /** Deletions by SQL or cascade go unnoticed, so rows are looked up by their files' keys, a chunk per run. */
  async #compareWithRows(): Promise<void> {
    const { pool } = this.deps.database;
    const { tables, last } = await filesAfter(pool, this.#after, FILE_SCAN_LIMIT);
    this.#after = last ?? MIN_UUID;
    const slow = new Set<number>();
    for (const files of tables) {
      if (slow.has(files.tenantid)) continue;
      const startedAtMs = performance.now();
      await this.#compareTable(files);
      if (performance.now() - startedAtMs > SLOW_MS) slow.add(files.tenantid);
    }
  }

  async #compareTable(files: FilesOfTable): Promise<void> {
    const { database, log, orphanGraceSeconds } = this.deps;
    const { tenantid, schema, target, storagekeys } = files;
    const found = await findOrphans(database.pool, database.transactions, files);
    if (!found.ok) {
      log.warn(
        { err: found.error, tenantid, target },
        "a table's files can't be compared with its rows: it can't be read, or its key has changed",
      );
      return;
    }
    // A deleted tenant does not come back; a row may, when its table is reloaded.
    const graceSeconds = schema === null ? 0 : orphanGraceSeconds;
    const removed = await deleteOrphans(database.pool, storagekeys, found.storagekeys, graceSeconds);
    if (removed > 0) log.info({ tenantid, target, removed }, 'files of deleted rows were removed');
  }

  async #pruneUploads(): Promise<void> {
    const { pool } = this.deps.database;
    for (let chunk = 0; chunk < UPLOAD_CHUNKS; chunk++) {
      if ((await pruneUploads(pool, UPLOAD_CHUNK_SIZE)) < UPLOAD_CHUNK_SIZE) return;
    }
  }

  async #removeObjects(): Promise<void> {
    const { database, storage } = this.deps;
    for (;;) {
      const objectkeys = await takeObjects(database.pool, OBJECT_CHUNK_SIZE);
      for (const objectkey of objectkeys) await storage.remove(objectkey);
      await deleteSwept(database.pool, objectkeys);
      if (objectkeys.length < OBJECT_CHUNK_SIZE) return;
    }
  }
}
