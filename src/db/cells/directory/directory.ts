import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { createConnector, type Connector } from '../../pool/connector.js';
import { openKnex } from '../../schema/openKnex.js';
import { asStartupOptions, SEARCH_PATH } from '../../pool/sessionSettings.js';
import { startListening } from '../../pool/listening.js';
import { UsageError } from '../../../foundation/errors.js';
import type { Logger } from '../../../foundation/observability/log.js';
import type { Stoppable } from '../../../foundation/lifecycle/shutdown.js';
import { identifier, statement } from '../../sql/sql.js';

// Resolves from both src/ and dist/.
const MIGRATIONS_DIR = fileURLToPath(new URL('../../../../migrations/directory', import.meta.url));
const SCHEMA = 'rowpost_directory';
const LISTEN = statement`listen ${identifier(SCHEMA)}`;
const MAX_CONNECTIONS = 3;
const CONNECT_TIMEOUT_MS = 5_000;

/** The database that knows all cells. Cells copy it, so that only moves and releases need it. */
export interface Directory {
  readonly pool: pg.Pool;
  /** A connection of its own, not open yet. */
  createClient(): pg.Client;
  /** Calls `onChange` for each change, and after every (re)connect. */
  listen(onChange: () => void): Stoppable;
  close(): Promise<void>;
}

/** @param url as `DIRECTORY_URL` */
export function openDirectory(url: string, applicationName: string, log: Logger): Directory {
  const connector: Connector = createConnector({
    url,
    config: {
      application_name: applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      options: asStartupOptions({
        search_path: SEARCH_PATH,
        timezone: 'UTC',
        datestyle: 'ISO',
        idle_in_transaction_session_timeout: '30s',
      }),
    },
    poolTimeoutMs: CONNECT_TIMEOUT_MS,
    log,
  });
  const pool = new pg.Pool({ ...connector.config, Client: connector.Client, max: MAX_CONNECTIONS });
  // An idle connection that breaks is replaced at the next use.
  pool.on('error', (error) => log.warn({ err: error }, 'a connection to the directory broke'));
  return {
    pool,
    createClient: () => connector.createClient(),
    listen: (onChange) =>
      startListening({ createClient: () => connector.createClient(), listen: LISTEN, log }, onChange),
    close: () => pool.end(),
  };
}

/** Opens the directory for one piece of work. Throws UsageError if it has no tables yet. */
export async function useDirectory(
  url: string,
  applicationName: string,
  log: Logger,
  work: (directory: Directory) => Promise<void>,
): Promise<void> {
  const directory = openDirectory(url, applicationName, log);
  try {
    await work(directory);
  } catch (error) {
    if (isMissingSchema(error)) {
      throw new UsageError(
        'the directory of DIRECTORY_URL has no tables: run "rowpost directory release" first',
      );
    }
    throw error;
  } finally {
    await directory.close();
  }
}

/** PostgreSQL's invalid_schema_name and undefined_table. */
function isMissingSchema(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    ['3F000', '42P01'].includes(error.code ?? '') &&
    error.message.includes(SCHEMA)
  );
}

/** Brings the directory's tables up to date. @returns the names of the applied migrations */
export async function migrateDirectory({ pool }: Directory): Promise<readonly string[]> {
  await pool.query(`create schema if not exists ${SCHEMA}`);
  const [, applied] = (await openKnex(pool).migrate.latest({
    directory: MIGRATIONS_DIR,
    schemaName: SCHEMA,
    tableName: 'migration',
    loadExtensions: ['.js'],
    disableMigrationsListValidation: true,
  })) as [number, string[]];
  return applied;
}
