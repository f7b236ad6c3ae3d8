import { randomBytes } from 'node:crypto';
import type { ConnectionBudget } from '../../src/db/pool/connectionBudget.js';
import type { Database } from '../../src/db/pool/database.js';
import { setDefaultsOfRoles } from '../../src/db/pool/sessionSettings.js';
import { throughPgBouncer } from './pgbouncer.js';
import { testServer, type PostgresMajor, type TestServer } from './postgresServer.js';
import { atEndOfRun } from './teardown.js';
import { createTemplateSql, databaseUrl, migrateTemplate, openTestDatabase } from './templateDatabase.js';

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
  const url = databaseUrl(server.url, name);
  const pooledUrl = server.pooled && throughPgBouncer(url, server.pooled);
  if (pooledUrl !== undefined) await setServiceDefaults(url);
  const database = openTestDatabase(url, options.budget, pooledUrl);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => (dropped ??= database.close().then(() => server.dropDatabase(name)));
  atEndOfRun(drop);
  return { url, database, drop };
}

/** As a release does. */
async function setServiceDefaults(url: string): Promise<void> {
  const database = openTestDatabase(url);
  try {
    await setDefaultsOfRoles(database.pool, await database.tenants.names(), database.settings);
  } finally {
    await database.close();
  }
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
  if (server.template !== undefined) return server.template;
  const name = `rowpost_template_${RUN_ID}`;
  await server.run(createTemplateSql(name));
  atEndOfRun(() => server.dropDatabase(name));
  await migrateTemplate(databaseUrl(server.url, name));
  return name;
}
