import { randomBytes } from 'node:crypto';
import type { ConnectionBudget } from '../../src/db/connection/budget.js';
import { openDatabase, type Database } from '../../src/db/connection/database.js';
import { migrate } from '../../src/db/migrate.js';
import { migrateQueue } from '../../src/queue/queue.js';
import { testServer, type PostgresMajor, type TestServer } from './postgresServer.js';
import { atEndOfRun } from './teardown.js';
import { TEST_BUDGET, testConfig, testKeyRing, testLog } from './testConfig.js';
import { waitFor } from './waitFor.js';

/**
 * A database of its own for one test file, up to date with every migration, BullMQ's included. PostgreSQL's roles are
 * shared by all databases of a server.
 */
export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** Closes `database` and deletes it, with whoever is still connected. */
  drop(): Promise<void>;
}

/** Several runs may share a server. */
const RUN_ID = `${process.pid}_${randomBytes(3).toString('hex')}`;

const templates = new Map<TestServer, Promise<string>>();
let created = 0;

/** Copies the migrated template database, which takes some tens of milliseconds. @param options.postgres a certain version */
export async function createTestDatabase(
  options: { readonly postgres?: PostgresMajor; readonly budget?: ConnectionBudget } = {},
): Promise<TestDatabase> {
  const server = await testServer(options.postgres);
  const template = await templateOf(server);
  const name = `rowpost_test_${RUN_ID}_${++created}`;
  await server.run(`create database ${name} template ${template}`);
  const url = urlOf(server, name);
  const database = openTestDatabase(url, options.budget);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => (dropped ??= database.close().then(() => dropDatabase(server, name)));
  atEndOfRun(drop);
  return { url, database, drop };
}

function openTestDatabase(url: string, budget = TEST_BUDGET): Database {
  const config = testConfig();
  return openDatabase({
    url,
    budget,
    keyRing: testKeyRing,
    statementTimeoutMs: config.statementTimeoutMs,
    lockTimeoutMs: config.lockTimeoutMs,
    connectTimeoutMs: config.connectTimeoutMs,
    applicationName: 'rowpost test',
    log: testLog,
  });
}

function templateOf(server: TestServer): Promise<string> {
  let template = templates.get(server);
  if (!template) {
    template = createTemplate(server);
    templates.set(server, template);
  }
  return template;
}

async function createTemplate(server: TestServer): Promise<string> {
  const name = `rowpost_template_${RUN_ID}`;
  // template0 with these locales is the same on every server: order by code point, case by Unicode.
  await server.run(
    `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C.UTF-8'`,
  );
  atEndOfRun(() => dropDatabase(server, name));
  const url = urlOf(server, name);
  const database = openTestDatabase(url);
  try {
    await migrate(database.knex);
    await migrateQueue(testConfig({ DATABASE_URL: url }), database);
  } finally {
    await database.close();
  }
  return name;
}

function urlOf(server: TestServer, name: string): string {
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** An autovacuum worker may be in it, which only a superuser may end; it leaves by itself. */
async function dropDatabase(server: TestServer, name: string): Promise<void> {
  await waitFor(`the end of ${name}`, async () => {
    await server.run(`drop database if exists ${name} with (force)`);
    return true;
  });
}
