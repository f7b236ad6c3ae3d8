import { openDatabase, type Database } from '../../src/db/pool/database.js';
import { migrate } from '../../src/db/schema/migrate.js';
import { migrateQueue } from '../../src/queue/openQueue.js';
import { TEST_BUDGET, testConfig, testKeyRing, testLog } from './testConfig.js';

/** template0 with these locales is the same on every server: order by code point, case by Unicode. */
export function createTemplateSql(name: string): string {
  return `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C.UTF-8'`;
}

/** Brings the empty database at `url` up to date with every migration, BullMQ's included. */
export async function migrateTemplate(url: string): Promise<void> {
  const database = openTestDatabase(url);
  try {
    await migrate(database.pool);
    await migrateQueue(testConfig({ DATABASE_URL: url }), database);
  } finally {
    await database.close();
  }
}

/** @param pooledUrl through a pooler that knows no prepared statements, if there is one */
export function openTestDatabase(url: string, budget = TEST_BUDGET, pooledUrl?: string): Database {
  const config = testConfig();
  return openDatabase({
    ...(pooledUrl === undefined ? { url } : { url: pooledUrl, directUrl: url, preparedStatements: false }),
    budget,
    keyRing: testKeyRing,
    statementTimeoutMs: config.statementTimeoutMs,
    lockTimeoutMs: config.lockTimeoutMs,
    poolTimeoutMs: config.poolTimeoutMs,
    applicationName: 'rowpost test',
    log: testLog,
  });
}

/** The URL of another database of the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
