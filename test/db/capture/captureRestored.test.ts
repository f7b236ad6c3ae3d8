import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import pg from 'pg';
import { captureTable } from '../../../src/control/utility/capture.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import type { Database } from '../../../src/db/pool/database.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { testServer } from '../../support/postgresServer.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const COPY = `restored_${process.pid}`;

/** Clients of PostgreSQL, which Debian's package `postgresql-client` brings; npm brings servers alone. */
function hasClients(): boolean {
  return ['pg_dump', 'psql'].every((program) => spawnSync(program, ['--version']).status === 0);
}

describe('a captured table in a dump', () => {
  let origin: TestDatabase;
  let copy: Database;
  let writer: pg.Client;
  const opened: (() => Promise<void>)[] = [];
  let tenant: { readonly tenantid: number; readonly schema: string };

  const engineOf = (database: Database): DataEngine =>
    createDataEngine({ database, config: testConfig(), log: testLog, onCommitted: () => undefined });
  const changes = async (): Promise<readonly string[]> => {
    const { rows } = await copy.pool.query<{ change: string }>(
      `select concat_ws(' ', tenantid, operation, target, key, new) as change from rowpost.outbox order by eventid`,
    );
    return rows.map(({ change }) => change);
  };

  before(async () => {
    // The oldest server that is supported, whose dumps any pg_dump makes, into the newest.
    origin = await createTestDatabase({ postgres: 15 });
    const { pool } = origin.database;
    tenant = await createTestTenant(pool, { name: 'shop', rootLogin: 'root', rootPassword: 'correct horse' });
    const { tenantid, schema } = tenant;
    const sql = `create type mood as enum ('glad', 'sad'); create table item (id int primary key, name text);
      create type pair as (mood mood, n int); create table felt (id int primary key, mood mood, pair pair)`;
    await runTenantSql(origin.database, { tenantid, sql });
    const catalog = await engineOf(origin.database).introspect(tenantid, schema);
    for (const table of ['item', 'felt']) {
      await inTransaction(pool, (trx) =>
        captureTable(trx, origin.database, { tenantid, catalog, table }, 'all'),
      );
    }
    await origin.database.pool.query(`insert into ${schema}.item values (1, 'before')`);
  });
  after(async () => {
    for (const close of opened) await close();
    await (await testServer(18)).dropDatabase(COPY);
    await origin.drop();
  });

  if (hasClients()) {
    it('is captured in another cluster as soon as it is restored', async () => {
      const server = await testServer(18);
      await server.run(`create database ${COPY} template template0`);
      const url = databaseUrl(server.url, COPY);
      const dump = spawnSync('pg_dump', [origin.url], { encoding: 'utf8', maxBuffer: 2 ** 30 });
      expect(dump.status, dump.stderr).to.equal(0);
      // Roles of the other cluster are missing here: who owns what can't be restored.
      const restored = spawnSync('psql', ['-qX', '-d', url], { input: dump.stdout, encoding: 'utf8' });
      expect(restored.status, restored.stderr).to.equal(0);
      copy = openTestDatabase(url);
      opened.push(() => copy.close());
      writer = new pg.Client({ connectionString: url });
      await writer.connect();
      opened.unshift(() => writer.end());
      await writer.query(`insert into ${tenant.schema}.item values (2, 'after')`);
      const { tenantid } = tenant;
      expect(await changes()).to.deep.equal([
        `${tenantid} insert item {"id" : 1} {"id":1,"name":"before"}`,
        `${tenantid} insert item {"id" : 2} {"id":2,"name":"after"}`,
      ]);
    });

    it('shows composite types as before, once the service has checked the tables', async () => {
      const { tenantid, schema } = tenant;
      await writer.query(`insert into ${schema}.felt values (1, 'glad', '(sad,1)')`);
      expect((await changes()).at(-1)).to.equal(
        `${tenantid} insert felt {"id" : 1} {"id":1,"mood":"glad","pair":"(sad,1)"}`,
      );
      await copy.tenants.settle(tenantid, schema);
      await engineOf(copy).introspect(tenantid, schema);
      await writer.query(`insert into ${schema}.felt values (2, 'sad', '(sad,1)')`);
      expect((await changes()).at(-1)).to.equal(
        `${tenantid} insert felt {"id" : 2} {"id":2,"mood":"sad","pair":{"mood":"sad","n":1}}`,
      );
      const { rows } = await copy.pool.query(
        `select count(*)::int as n from pg_trigger where tgname like 'rowpost_capture_%'`,
      );
      expect(rows).to.deep.equal([{ n: 8 }]);
    });
  }
});
