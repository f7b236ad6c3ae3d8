import {
  openInstallation,
  requireCurrentSchema,
  withInstallation,
  type Installation,
} from '../process/compose.js';
import type { MoveDeps } from '../control/tenants/moveTables.js';
import type { DumpEnd } from '../db/cells/moving/clientProgram.js';
import { useDirectory, type Directory } from '../db/cells/directory/directory.js';
import { UsageError } from '../foundation/errors.js';
import { createLogger } from '../foundation/observability/log.js';
import { loadConfig } from '../process/loadConfig.js';

/** Opens this cell, the one of TARGET_DATABASE_URL and the directory. @returns exit status 0. Throws UsageError when one is not set. */
export function withCells(work: (deps: MoveDeps) => Promise<void>): Promise<number> {
  return withInstallation(async (source) => {
    const { config, log, keyRing } = source;
    if (config.directoryUrl === undefined) throw new UsageError('DIRECTORY_URL and CELL are not set');
    if (config.targetDatabaseUrl === undefined) throw new UsageError('TARGET_DATABASE_URL is not set');
    const targetConfig = {
      ...config,
      databaseUrl: config.targetDatabaseUrl,
      databaseDirectUrl: undefined,
    };
    await useDirectory(config.directoryUrl, 'rowpost command', log, async (directory) => {
      const target = await openInstallation('command', 'command', targetConfig);
      try {
        await requireCurrentSchema(target.database);
        await work({ directory, source: endOf(source), target: endOf(target), keyRing });
      } finally {
        await target.stop();
      }
    });
  });
}

function endOf(installation: Installation): DumpEnd {
  const end = dumpEndOf(installation);
  if (end.url === undefined)
    throw new UsageError('a cell needs DATABASE_URL: the embedded PostgreSQL is only for trying Rowpost out');
  return end;
}

/** For PostgreSQL's client programs, which bypass a pooler. */
export function dumpEndOf({ config: { databaseUrl, databaseDirectUrl }, database }: Installation): DumpEnd {
  return { database, url: databaseDirectUrl ?? databaseUrl };
}

/** Opens the directory alone. @returns exit status 0. Throws UsageError when DIRECTORY_URL is not set. */
export async function withDirectory(work: (directory: Directory) => Promise<void>): Promise<number> {
  const config = loadConfig(process.env);
  if (config.directoryUrl === undefined) throw new UsageError('DIRECTORY_URL is not set');
  const log = createLogger(config.logLevel, 'command');
  await useDirectory(config.directoryUrl, 'rowpost command', log, work);
  return 0;
}
