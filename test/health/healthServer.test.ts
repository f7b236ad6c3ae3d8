import { expect } from 'chai';
import pg from 'pg';
import { startHealthServer, type HealthServer } from '../../src/health/healthServer.js';
import { requireWritable } from '../../src/db/failover/reachability.js';
import { runSql } from '../support/runSql.js';
import { testConfig, testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

describe('HEALTH_PORT of a relay or worker', () => {
  let db: TestDatabase;
  let server: HealthServer;
  let queueWorks = true;
  let ledgerPool: pg.Pool;

  before(async () => {
    db = await createTestDatabase();
    ({ ledgerPool } = db.database);
    const checks = {
      postgres: () => requireWritable({ pool: db.database.pool, ledgerPool }),
      queue: () => (queueWorks ? Promise.resolve() : Promise.reject(new Error('away'))),
    };
    const config = testConfig({ BACKLOG_ALARM_SECONDS: '1' });
    server = await startHealthServer({ database: db.database, config, log: testLog, checks }, 'relay', 0);
  });
  after(async () => {
    await server.stop();
    await db.drop();
  });

  const get = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, text: await response.text() };
  };

  it('is live and ready, and serves process and backlog metrics', async () => {
    expect((await get('/healthz')).status).to.equal(200);
    expect((await get('/livez')).status).to.equal(200);
    expect(await get('/readyz')).to.deep.equal({ status: 200, text: '{"status":"ok","down":[]}' });
    const { status, text } = await get('/metrics');
    expect(status).to.equal(200);
    for (const name of [
      'rowpost_events_unread_seconds 0',
      'rowpost_pg_connections_in_use{pool="ledger"}',
      'rowpost_cache_lookups_total{cache="plans",result="hit"}',
      'nodejs_eventloop_lag_seconds',
      'process_start_time_seconds',
    ])
      expect(text).to.include(name);
    expect((await get('/query')).status).to.equal(404);
  });

  it('is not ready while PostgreSQL accepts no writes', async () => {
    const name = new URL(db.url).pathname.slice(1);
    const setReadOnly = (value: string): Promise<void> =>
      runSql(
        `${db.url}?options=-c%20default_transaction_read_only=off`,
        `alter database "${name}" set default_transaction_read_only = ${value};
         select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
      );
    const answered = (status: number) =>
      waitFor(`a ${status}`, async () => (await get('/readyz')).status === status);
    await setReadOnly('on');
    await answered(503);
    expect(await get('/readyz')).to.deep.equal({
      status: 503,
      text: '{"status":"unavailable","down":["postgres"]}',
    });
    await setReadOnly('off');
    await answered(200);
  });

  it('is not ready while the ledger has no connection', async () => {
    const unreachable = new pg.Pool({ host: '127.0.0.1', port: 1 });
    ledgerPool = unreachable;
    expect((await get('/readyz')).text).to.equal('{"status":"unavailable","down":["postgres"]}');
    ({ ledgerPool } = db.database);
    await unreachable.end();
    expect((await get('/readyz')).status).to.equal(200);
  });

  it('is not ready while the queue is down, or something has waited too long', async () => {
    queueWorks = false;
    expect(await get('/readyz')).to.deep.equal({
      status: 503,
      text: '{"status":"unavailable","down":["queue"]}',
    });
    queueWorks = true;
    await db.database.pool.query(
      `insert into rowpost.outbox (tenantid, roleid, operation, target, key, time) values (1, 1, 'insert', 'x', '{}', now() - interval '9 seconds')`,
    );
    const late = await waitFor('the alarm', async () => {
      const response = await get('/readyz');
      return response.status === 503 ? response : undefined;
    });
    expect(JSON.parse(late.text)).to.deep.include({ status: 'unavailable', down: [] });
    expect(late.text).to.include('"overdue":[{"place":"events","count":1,"oldestSeconds":');
    server.announceStop();
    expect(await get('/readyz')).to.deep.equal({
      status: 503,
      text: '{"status":"unavailable","down":["relay"]}',
    });
  });
});
