import { expect } from 'chai';
import pg from 'pg';
import { openBatches, type Batch } from '../../../src/db/outbox/batches.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { statement } from '../../../src/db/sql/sql.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { TenantLimiter } from '../../../src/foundation/limits/tenantLimiter.js';
import { evaluateRules } from '../../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../../src/worker/failedEvaluations.js';
import { createRule, createTenantWithTables, NO_LIMITS } from '../../delivery/pipelineSetup.js';
import { testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const EVENTS = 100;
/** Of a thousand that a tenant may have. */
const RULES = 100;
const MAX_BYTES = 300_000_000;

/** A worker was sent each event's key, of up to a megabyte, once for each rule: ten gigabytes of these. */
describe('attack: many rules, and events with large keys', () => {
  let db: TestDatabase;
  let tenantid: number;
  before(async () => {
    db = await createTestDatabase();
    const tenant = await createTenantWithTables(db.database, 'create table note (id int primary key)');
    tenantid = tenant.tenantid;
    const owner = { tenantid, roleid: tenant.rootRoleid, apiKey: '' };
    for (let rule = 0; rule < RULES; rule++) await createRule(db.database, owner, { targets: ['note'] });
  });
  after(() => db.drop());

  const write = async (keyBytes: number): Promise<void> => {
    await runTenantSql(db.database, {
      tenantid,
      sql: `insert into rowpost_tenant.event (roleid, operation, target, key, new)
        select 1, 'insert', 'note', json_build_object('id', n || repeat('x', ${keyBytes})), json_build_object('id', n)
        from generate_series(1, ${EVENTS}) n`,
    });
    await pollOutbox(db.database.ledger, { batchEvents: EVENTS, pollEvents: EVENTS });
  };
  const open = (): Promise<readonly Batch[]> =>
    openBatches(db.database.ledger, { minAgeMs: -1_000, limit: 1_000 });
  const depsWith = (ledger: Ledger) => ({
    ledger,
    engine: { evaluateCondition: () => Promise.reject(new Error('there are no conditions')) },
    limits: { ...NO_LIMITS, firesPerMinute: 60 },
    records: new TenantLimiter<number>({ max: 1 }),
    failed: new FailedEvaluations(),
    log: testLog,
  });

  it('take a worker no memory', async () => {
    await write(1_000_000);
    const [batch, ...more] = await open();
    expect(more).to.deep.equal([]);
    const beforeBytes = process.memoryUsage().rss;
    let mostBytes = 0;
    const timer = setInterval(() => {
      mostBytes = Math.max(mostBytes, process.memoryUsage().rss - beforeBytes);
      if (mostBytes > MAX_BYTES) throw new Error(`a batch takes ${mostBytes} bytes`);
    }, 20);
    try {
      const { ready } = await evaluateRules(depsWith(db.database.ledger), batch!, false);
      expect(ready).to.have.length(EVENTS * RULES);
      const { rows } = await db.database.pool.query<{ keys: string[] }>(
        statement`select array_agg(distinct key::text) as keys from rowpost.delivery where tenantid = $1`,
        [tenantid],
      );
      expect(rows[0]!.keys, 'a gigabyte, copied for each rule').to.deep.equal(['{}']);
    } finally {
      clearInterval(timer);
    }
    expect(await open()).to.deep.equal([]);
  });

  it('are evaluated one by one, if together they take longer than a statement may', async () => {
    await write(10);
    const { ledger } = db.database;
    let canceled = 0;
    const slow: Ledger = {
      transaction: (steps) => ledger.transaction(steps),
      query: async <Row>(closing: Parameters<Ledger['query']>[0], values: readonly unknown[]) => {
        if (closing.name?.startsWith('batch_close') === true) {
          const { rows } = await db.database.pool.query(
            statement`select from rowpost.relay_batch where batchid = $1::bigint and cardinality(eventids) > 1`,
            [values[0]],
          );
          if (rows.length > 0) {
            canceled += 1;
            throw Object.assign(new pg.DatabaseError('canceled', 0, 'error'), { code: '57014' });
          }
        }
        return ledger.query<Row>(closing, values);
      },
    };
    let evaluations = 0;
    for (let batches = await open(); batches.length > 0; batches = await open()) {
      for (const batch of batches) {
        evaluations += 1;
        if (evaluations > 2 * EVENTS) throw new Error('it never ends');
        await evaluateRules(depsWith(slow), batch, false).catch(() => undefined);
      }
    }
    expect([canceled, evaluations]).to.deep.equal([2, 2 + EVENTS]);
    const { rows } = await db.database.pool.query<{ count: number }>(
      statement`select count(*)::int from rowpost.delivery where tenantid = $1`,
      [tenantid],
    );
    expect(rows[0]!.count).to.equal(2 * EVENTS * RULES);
  });
});
