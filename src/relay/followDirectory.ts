import type { Config } from '../config/config.js';
import type { Database } from '../db/pool/database.js';
import { copyDirectory } from '../db/cells/directory/copyDirectory.js';
import { openDirectory } from '../db/cells/directory/directory.js';
import type { Logger } from '../foundation/observability/log.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import { startLoop } from './loop.js';

/** Changes are announced; this is for announcements that were missed. */
const EVERY_MS = 30_000;

/** Keeps the cell's copy of the directory up to date. While the directory is unavailable, the copy stays as it is. */
export function followDirectory(
  { directoryUrl, cell }: Pick<Config, 'directoryUrl' | 'cell'>,
  { database, log }: { readonly database: Pick<Database, 'pool'>; readonly log: Logger },
): Stoppable | undefined {
  if (directoryUrl === undefined || cell === undefined) return undefined;
  const directory = openDirectory(directoryUrl, 'rowpost relay', log);
  const loop = startLoop(() => copyDirectory(directory, database.pool, cell), {
    name: 'copying the directory',
    everyMs: EVERY_MS,
    log,
  });
  const listening = directory.listen(() => loop.wake());
  return {
    async stop() {
      await listening.stop();
      await loop.stop();
      await directory.close();
    },
  };
}
