import { expect } from 'chai';
import pg from 'pg';
import { createTestTenant } from '../../support/createTestTenant.js';
import { openDatabase, type Database } from '../../../src/db/pool/database.js';
import { preparedText } from '../../../src/db/pool/preparedStatements.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { replicaReads } from '../../../src/foundation/observability/metrics.js';
import { PREPARED_TEMPLATE } from '../../support/preparedCluster.js';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../../support/replicatedPostgres.js';
import { TEST_BUDGET, testKeyRing, testLog } from '../../support/testConfig.js';
import { waitFor } from '../../support/waitFor.js';

const FOUND = 4711;
/** Takes a lock that shows who ran it. Extended statistics take no lock on a replica, and the planner calls their functions. */
const CODE = `create function who(int) returns int immutable language plpgsql as $$ begin
    if session_user like '%_shared' then perform pg_advisory_lock(${FOUND}); perform pg_sleep(1); end if; return 1; end $$;
  create statistics s on (who(1) + id), word from note`;

/** Transactions that have switched to the tenant's role on the primary are waited for before its schema changes. */
describe('attack: code that reaches a replica while a transaction there has switched to the role of its tenant', () => {
  let postgres: ReplicatedPostgres;
  let database: Database;
  let standby: pg.Client;
  before(async () => {
    postgres = await startReplicatedPostgres();
    database = openDatabase({
      url: postgres.primaryUrl(PREPARED_TEMPLATE),
      replicaUrls: [postgres.standbyUrl(PREPARED_TEMPLATE)],
      maxReplicaLagMs: 6_000,
      budget: TEST_BUDGET,
      keyRing: testKeyRing,
      statementTimeoutMs: 10_000,
      lockTimeoutMs: 5_000,
      poolTimeoutMs: 5_000,
      applicationName: 'rowpost test',
      log: testLog,
    });
    standby = new pg.Client({ connectionString: postgres.standbyUrl(PREPARED_TEMPLATE) });
    await standby.connect();
  });
  after(async () => {
    await standby.end();
    await database.close();
    await postgres.stop();
  });

  it('is not run by the shared login', async () => {
    const { tenantid, schema } = await createTestTenant(database.pool, {
      name: 'shop',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, { tenantid, sql: 'create table note (id int primary key, word text)' });
    await database.tenants.settle(tenantid, schema);
    expect(database.tenants.loginOf(tenantid)).to.equal('shared');
    await waitFor('a replica that follows', () => database.replicas.reads() !== undefined);
    const send = (...texts: readonly string[]): Promise<unknown> =>
      database.replicas.reads()!.run({
        tenantid,
        mode: 'read',
        statements: texts.map((text) => ({ statement: preparedText(text as 'select 1'), values: [] })),
      });
    // Then the statements that enter the role are prepared ones.
    for (let reads = 0; reads < 10; reads++) await send('select 1');
    const isRunning = async (): Promise<boolean> => {
      const { rows } = await standby.query<{ query: string }>(
        `select from pg_stat_activity where usename like '%_shared' and state = 'active'`,
      );
      return rows.length > 0;
    };
    const hasRun = async (): Promise<boolean> => {
      const { rows } = await standby.query(
        `select from pg_locks where locktype = 'advisory' and objid = ${FOUND}`,
      );
      return rows.length > 0;
    };
    const served = async (): Promise<number> =>
      (await replicaReads.get()).values.find(({ labels }) => labels.outcome === 'served')?.value ?? 0;
    const servedBefore = await served();
    let isDone = false;
    const read = send('select pg_catalog.pg_sleep(3)', `select id from ${schema}.note`).finally(
      () => (isDone = true),
    );
    await waitFor('the transaction on the replica', isRunning);
    const changed = runTenantSql(database, { tenantid, sql: CODE });
    let ran = false;
    await waitFor('the end of the transaction', async () => {
      ran ||= await hasRun();
      return isDone || ran;
    });
    await Promise.all([read, changed]);
    expect(ran).to.equal(false);
    // And not because the primary did it.
    expect((await served()) - servedBefore).to.equal(1);
  });
});
