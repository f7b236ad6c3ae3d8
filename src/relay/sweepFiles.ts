import type { Database } from '../db/connection/database.js';
import {
  filesAfter,
  findOrphans,
  deleteSwept,
  pruneUploads,
  deleteOrphans,
  takeObjects,
} from '../db/files/sweep.js';
import type { FileStorage } from '../files/storage/fileStorage.js';
import type { Logger } from '../log.js';

export interface SweepDeps {
  readonly database: Pick<Database, 'pool' | 'transactions'>;
  readonly storage: FileStorage;
  readonly log: Logger;
  /** Grace period for files whose row was deleted by other means than the API. */
  readonly orphanGraceSeconds: number;
}

const OBJECT_CHUNK_SIZE = 100;
/** Files compared with their rows per run; the next run continues after them. */
const FILE_SCAN_LIMIT = 2_000;
const MIN_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * Removes what interrupted uploads, deleted files and deleted rows left behind. Any number of sweepers may run: each
 * object is claimed by one, and claims that expire are taken over by others.
 */
export class FileSweeper {
  #after = MIN_UUID;

  constructor(private readonly deps: SweepDeps) {}

  async sweep(): Promise<void> {
    const { pool } = this.deps.database;
    await this.#compareWithRows();
    await this.#removeObjects();
    await pruneUploads(pool);
  }

  /** Deletions by SQL or cascade go unnoticed, so rows are looked up by their files' keys, a chunk per run. */
  async #compareWithRows(): Promise<void> {
    const { database, log, orphanGraceSeconds } = this.deps;
    const { tables, last } = await filesAfter(database.pool, this.#after, FILE_SCAN_LIMIT);
    this.#after = last ?? MIN_UUID;
    for (const files of tables) {
      const { tenantid, schema, target, storagekeys } = files;
      const rowless = await findOrphans(database.pool, database.transactions, files);
      if (!rowless) {
        log.warn(
          { tenantid, target },
          "a table's key has changed; its files can't be compared with its rows",
        );
        continue;
      }
      // A deleted tenant does not come back; a row may, when its table is reloaded.
      const graceSeconds = schema === null ? 0 : orphanGraceSeconds;
      const removed = await deleteOrphans(database.pool, storagekeys, rowless, graceSeconds);
      if (removed > 0) log.info({ tenantid, target, removed }, 'files of deleted rows were removed');
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
