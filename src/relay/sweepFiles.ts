import type { Database } from '../db/connection/database.js';
import {
  filesAfter,
  findRowless,
  forgetSwept,
  pruneUploads,
  settleRowless,
  takeObjects,
} from '../db/files/sweep.js';
import type { FileStorage } from '../files/storage/fileStorage.js';
import type { Logger } from '../log.js';

export interface SweepDeps {
  readonly database: Pick<Database, 'pool' | 'transactions'>;
  readonly storage: FileStorage;
  readonly log: Logger;
  /** How long files are kept whose row was deleted by other means than the API. */
  readonly patienceSeconds: number;
}

const OBJECTS_AT_ONCE = 100;
/** Files that one round compares with their rows; the next round goes on after them. */
const FILES_AT_ONCE = 2_000;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Removes what interrupted uploads, deleted files and deleted rows left behind. Any number of sweepers may run: each
 * object is one's alone, and what one leaves in hand the others take later.
 */
export class FileSweeper {
  #after = BEFORE_ALL;

  constructor(private readonly deps: SweepDeps) {}

  async sweep(): Promise<void> {
    const { pool } = this.deps.database;
    await this.#compareWithRows();
    await this.#removeObjects();
    await pruneUploads(pool);
  }

  /** Deletions with SQL, and by cascade, tell nobody: rows are looked up by the keys of files, a part each round. */
  async #compareWithRows(): Promise<void> {
    const { database, log, patienceSeconds } = this.deps;
    const { tables, last } = await filesAfter(database.pool, this.#after, FILES_AT_ONCE);
    this.#after = last ?? BEFORE_ALL;
    for (const files of tables) {
      const { tenantid, schema, target, storagekeys } = files;
      const rowless = await findRowless(database.pool, database.transactions, files);
      if (!rowless) {
        log.warn(
          { tenantid, target },
          "a table's key has changed; its files can't be compared with its rows",
        );
        continue;
      }
      // A deleted tenant does not come back; a row may, when its table is loaded again.
      const patience = schema === null ? 0 : patienceSeconds;
      const removed = await settleRowless(database.pool, storagekeys, rowless, patience);
      if (removed > 0) log.info({ tenantid, target, removed }, 'files of deleted rows were removed');
    }
  }

  async #removeObjects(): Promise<void> {
    const { database, storage } = this.deps;
    for (;;) {
      const objectkeys = await takeObjects(database.pool, OBJECTS_AT_ONCE);
      for (const objectkey of objectkeys) await storage.remove(objectkey);
      await forgetSwept(database.pool, objectkeys);
      if (objectkeys.length < OBJECTS_AT_ONCE) return;
    }
  }
}
