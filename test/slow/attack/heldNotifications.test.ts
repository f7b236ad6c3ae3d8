import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type pg from 'pg';
import { ServerGuard } from '../../../src/db/isolation/serverGuard.js';
import type { Database } from '../../../src/db/pool/database.js';
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../../support/preparedCluster.js';
import { runSql } from '../../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** A notification of 7,000 characters takes a page. PostgreSQL's default is a thousand times as many. */
const PAGES = 1_000;
const PAYLOAD = 7_000;
/** Listeners may be in a transaction for five seconds. */
const OLD_MS = 5_500;

/** Whoever held up the queue of notifications had long transactions of other tenants ended, such as dumps of their tables. */
describe('attack: a tenant that holds up the queue of notifications', () => {
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let database: Database;
  let guard: ServerGuard;
  let hostile: number;
  let other: number;
  before(async () => {
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    const say = (line: string): unknown => process.stderr.write(`${line}\n`);
    const settings = [`max_notify_queue_pages=${PAGES}`];
    server = await startEmbeddedPostgres({ dataDir, throwaway: true, settings, say });
    await runSql(server.url, `create database held template ${PREPARED_TEMPLATE}`);
    database = openTestDatabase(databaseUrl(server.url, 'held'));
    guard = new ServerGuard(database.createClient, () => database.tenants.names());
    const named = { rootLogin: 'root', rootPassword: 'correct horse' };
    other = (await createTestTenant(database.pool, { ...named, name: 'other' })).tenantid;
    hostile = (await createTestTenant(database.pool, { ...named, name: 'hostile' })).tenantid;
  });
  after(async () => {
    await guard.close();
    await database.close();
    await server.stop();
  });

  const connect = async (tenantid: number, ...statements: readonly string[]): Promise<pg.Client> => {
    const session = await database.tenants.connectDirectly(tenantid);
    session.on('error', () => undefined);
    for (const statement of statements) await session.query(statement);
    return session;
  };
  const fill = async (share: number): Promise<void> => {
    const session = await connect(hostile);
    await session.query(
      `select count(pg_notify('c', repeat('x', ${PAYLOAD}) || i)) from generate_series(1, ${share * PAGES}) i`,
    );
    await session.end();
  };
  const usage = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ usage: number }>(
      'select pg_notification_queue_usage() as usage',
    );
    return rows[0]!.usage;
  };
  const isAlive = (session: pg.Client): Promise<boolean> =>
    session.query('select').then(
      () => true,
      () => false,
    );
  const hold = (): Promise<pg.Client> => connect(hostile, 'listen c', 'begin');

  it('loses the session that does, and nobody else does, if its transaction is the oldest', async () => {
    const holder = await hold();
    const honest = [await connect(other, 'begin'), await connect(other, 'begin')];
    await delay(OLD_MS);
    expect(await guard.endHoldingSessions(), 'before').to.deep.equal([]);
    await fill(0.4);
    expect(await usage()).to.be.within(0.3, 0.5);
    expect(await guard.endHoldingSessions()).to.have.length(1);
    await waitFor('the queue to be read', async () => (await usage()) < 0.01);
    expect(await guard.endHoldingSessions(), 'after').to.deep.equal([]);
    expect(await isAlive(holder)).to.equal(false);
    for (const session of honest) {
      expect(await isAlive(session)).to.equal(true);
      await session.end();
    }
  });

  it('loses all of them, one after the other', async () => {
    const holders = [await hold(), await hold(), await hold()];
    await delay(OLD_MS);
    await fill(0.4);
    await waitFor('the queue to be read', async () => {
      await guard.endHoldingSessions();
      return (await usage()) < 0.01;
    });
    for (const holder of holders) expect(await isAlive(holder)).to.equal(false);
  });

  it('loses all at once when half of it is used', async () => {
    await Promise.all([hold(), hold(), hold()]);
    await delay(OLD_MS);
    await fill(0.6);
    expect(await guard.endHoldingSessions()).to.have.length(3);
    await waitFor('the queue to be read', async () => (await usage()) < 0.01);
  });
});
