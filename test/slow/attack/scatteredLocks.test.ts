import { expect } from 'chai';
import type pg from 'pg';
import { createTestTenant } from '../../support/createTestTenant.js';
import { ServerGuard } from '../../../src/db/isolation/serverGuard.js';
import type { Database } from '../../../src/db/pool/database.js';
import { identifier, statement } from '../../../src/db/sql/sql.js';
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../../support/preparedCluster.js';
import { runSql } from '../../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';

/** PostgreSQL's default. It then has 6,400 locks. */
const SETTINGS = ['max_connections=100'];
const SESSIONS = 49;
const LOCKS = 64;
const TABLES = 80;

/** Sessions with few locks each were left alone: whoever else had more than 64, for a dump of its tables, was ended as long as they stayed. */
describe('attack: a tenant whose sessions together hold half of all locks', () => {
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let database: Database;
  let guard: ServerGuard;
  before(async () => {
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    const say = (line: string): unknown => process.stderr.write(`${line}\n`);
    server = await startEmbeddedPostgres({ dataDir, throwaway: true, settings: SETTINGS, say });
    await runSql(server.url, `create database held template ${PREPARED_TEMPLATE}`);
    database = openTestDatabase(databaseUrl(server.url, 'held'));
    guard = new ServerGuard(database.createClient, () => database.tenants.names());
    await guard.endHoldingSessions();
  });
  after(async () => {
    await guard.close();
    await database.close();
    await server.stop();
  });

  it('loses them, and not another one with many tables', async () => {
    const { pool, tenants } = database;
    const named = { rootLogin: 'root', rootPassword: 'correct horse' };
    const hostile = await createTestTenant(pool, { ...named, name: 'hostile' });
    const { tenantid, schema } = await createTestTenant(pool, { ...named, name: 'other' });
    const other = await tenants.connectDirectly(tenantid);
    const sessions: pg.Client[] = [];
    try {
      await other.query('begin');
      for (let table = 0; table < TABLES; table++)
        await other.query(statement`create table ${identifier(schema, `t${table}`)} (id int)`);
      for (let number = 0; number < SESSIONS; number++) {
        const session = await tenants.connectDirectly(hostile.tenantid);
        session.on('error', () => undefined);
        sessions.push(session);
        await session.query(`select pg_advisory_lock($1, i) from generate_series(1, ${LOCKS}) i`, [number]);
      }
      const ended = new Set((await guard.endHoldingSessions()).map(({ role }) => role));
      expect([...ended]).to.deep.equal([(await tenants.names()).tenant(hostile.tenantid)]);
      await other.query('commit');
      expect(await guard.endHoldingSessions()).to.deep.equal([]);
    } finally {
      for (const session of [other, ...sessions]) await session.end().catch(() => undefined);
    }
  });
});
