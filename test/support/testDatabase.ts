import { randomBytes } from 'node:crypto';
import { openDatabase, type Database } from '../../src/db/database.js';
import { migrate } from '../../src/db/migrate.js';
import { runOnServer, testServerUrl } from './postgresServer.js';
import { atEndOfRun } from './teardown.js';
import { testConfig, testLog } from './testConfig.js';

/** A database of its own for one test file, up to date with every migration. PostgreSQL's roles are shared by all of them. */
export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** Closes `database` and deletes it, with whoever is still connected. */
  drop(): Promise<void>;
}

const POOL_SIZE = 8;
/** Several runs may share a server. */
const RUN_ID = `${process.pid}_${randomBytes(3).toString('hex')}`;

let template: Promise<string> | undefined;
let created = 0;

/** Copies the migrated template database, which takes some tens of milliseconds. */
export async function createTestDatabase(): Promise<TestDatabase> {
  template ??= createTemplate();
  const source = await template;
  const name = `rowpost_test_${RUN_ID}_${++created}`;
  await runOnServer(`create database ${name} template ${source}`);
  const url = await urlOf(name);
  const database = openTestDatabase(url);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => (dropped ??= database.close().then(() => dropDatabase(name)));
  atEndOfRun(drop);
  return { url, database, drop };
}

/** A second way in, as another process would have. The caller closes it. */
export function openTestDatabase(url: string): Database {
  const config = testConfig();
  return openDatabase({
    url,
    poolSize: POOL_SIZE,
    statementTimeoutMs: config.statementTimeoutMs,
    lockTimeoutMs: config.lockTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
    applicationName: 'rowpost test',
    log: testLog,
  });
}

async function createTemplate(): Promise<string> {
  const name = `rowpost_template_${RUN_ID}`;
  // template0 with these locales is the same on every server: order by code point, case by Unicode.
  await runOnServer(
    `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C.UTF-8'`,
  );
  atEndOfRun(() => dropDatabase(name));
  const database = openTestDatabase(await urlOf(name));
  try {
    await migrate(database.knex);
  } finally {
    await database.close();
  }
  return name;
}

async function urlOf(name: string): Promise<string> {
  const url = new URL(await testServerUrl());
  url.pathname = `/${name}`;
  return url.href;
}

async function dropDatabase(name: string): Promise<void> {
  await runOnServer(`drop database if exists ${name} with (force)`);
}
