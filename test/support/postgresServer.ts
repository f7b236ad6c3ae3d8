import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { atEndOfRun } from './teardown.js';

let server: Promise<string> | undefined;

/**
 * URL of the one PostgreSQL of this run, started when first asked for: the embedded one without fsync, or the one that
 * TEST_POSTGRES_URL names, whose role needs CREATEDB and CREATEROLE.
 */
export function testServerUrl(): Promise<string> {
  return (server ??= startServer());
}

/** Runs a statement that belongs to no test database, such as CREATE DATABASE. */
export async function runOnServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: await testServerUrl() });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function startServer(): Promise<string> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') return given;
  const embedded = await startEmbeddedPostgres({
    dataDir: path.join(os.tmpdir(), `rowpost-test-${process.pid}-${randomBytes(4).toString('hex')}`),
    throwaway: true,
    say: (line) => process.stderr.write(`${line}\n`),
  });
  atEndOfRun(() => embedded.stop());
  return embedded.url;
}
