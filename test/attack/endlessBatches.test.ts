import { expect } from 'chai';
import pg from 'pg';
import { openBatches } from '../../src/db/outbox/batches.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { statement } from '../../src/db/sql/sql.js';
import { toAppError } from '../../src/db/sql/toAppError.js';
import { TenantLimiter } from '../../src/foundation/limits/tenantLimiter.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { evaluateRules } from '../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../src/worker/failedEvaluations.js';
import {
  createRule,
  createTenantWithTables,
  NO_LIMITS,
  pipelineConfig,
  writeEvents,
} from '../delivery/pipelineSetup.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const MINUTE_MS = 60_000;

/** The relay reads all batches since the oldest that is open: of a million, this took it two seconds every five. */
describe('attack: batches that nobody can evaluate', () => {
  let db: TestDatabase;
  let engine: DataEngine;
  before(async () => {
    db = await createTestDatabase();
    engine = createDataEngine({
      database: db.database,
      config: await pipelineConfig('postgres'),
      log: testLog,
    });
  });
  after(() => db.drop());

  it('end after an hour, recorded, if the role of their tenant can not log in', async () => {
    const { ledger, pool, tenants } = db.database;
    const { tenantid, rootRoleid, schema } = await createTenantWithTables(
      db.database,
      `create function one() returns int language sql as 'select 1';
       create table coded (id int primary key, code text)`,
    );
    await engine.introspect(tenantid, schema);
    const tenant = { tenantid, roleid: rootRoleid, apiKey: '' };
    const conditional = await createRule(db.database, tenant, {
      targets: ['coded'],
      condition: "new.code <> ''",
    });
    const plain = await createRule(db.database, tenant, { targets: ['coded'] });
    await writeEvents(db.database, tenant, 2, { target: 'coded', new: { id: 1, code: 'x' } });
    await pollOutbox(ledger, { batchEvents: 100, pollEvents: 100 });
    const script = await tenants.connectDirectly(tenantid);
    script.on('error', () => undefined);
    await script.query(statement`alter role current_user set local_preload_libraries = 'nothing'`);
    await script.end();
    await pool.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1', [
      (await tenants.names()).tenant(tenantid),
    ]);

    let nowMs = 0;
    const failed = new FailedEvaluations(() => nowMs);
    const records = new TenantLimiter<number>({ max: 1 });
    const deps = { ledger, engine, limits: NO_LIMITS, records, failed, log: testLog };
    const evaluate = async (): Promise<string> => {
      const [batch] = await openBatches(ledger, { minAgeMs: -1_000, limit: 1 });
      if (!batch) return 'ended';
      return evaluateRules(deps, batch, false).then(
        () => 'evaluated',
        (error: unknown) => toAppError(error).code,
      );
    };
    expect(await evaluate()).to.equal('DATABASE_UNAVAILABLE');
    await pool.query(`update rowpost.relay_batch set createtime = createtime - interval '2 hours'`);
    for (; nowMs < 59 * MINUTE_MS; nowMs += 5 * MINUTE_MS)
      expect(await evaluate()).to.equal('DATABASE_UNAVAILABLE');
    nowMs = 61 * MINUTE_MS;
    expect([await evaluate(), await evaluate()]).to.deep.equal(['evaluated', 'ended']);
    const { rows } = await pool.query(
      `select ruleid::text, state, error_code from rowpost.email_delivery where tenantid = $1 order by 1, 2`,
      [tenantid],
    );
    const sent = { ruleid: plain, state: 'pending', error_code: null };
    const lost = { ruleid: conditional, state: 'failed', error_code: 'CONDITION_FAILED' };
    expect(rows).to.have.deep.members([sent, sent, lost, lost]);
  });

  it('stay open while outages come and go, and while the database itself is away', () => {
    let nowMs = 0;
    const failed = new FailedEvaluations(() => nowMs);
    const refused = Object.assign(new pg.DatabaseError('no', 0, 'error'), { code: '58P01' });
    const old = 5 * 60 * MINUTE_MS;
    const fail = (error: unknown, ageMs = old): boolean => failed.failed(1, ageMs, error);
    expect(fail(refused)).to.equal(false);
    nowMs = 90 * MINUTE_MS;
    expect(fail(refused)).to.equal(false);
    for (let minutes = 0; minutes < 61; minutes++, nowMs += MINUTE_MS) {
      const error = Object.assign(new pg.DatabaseError('starting up', 0, 'error'), { code: '57P03' });
      expect(fail(error)).to.equal(false);
      expect(fail(new Error('no response'))).to.equal(false);
    }
    for (let minutes = 0; minutes < 60; minutes++, nowMs += MINUTE_MS) expect(fail(refused)).to.equal(false);
    expect(fail(refused, MINUTE_MS)).to.equal(false);
    expect(fail(refused)).to.equal(true);
    failed.succeeded(1);
    expect(fail(refused)).to.equal(false);
  });

  it('are not those whose statement is too large', () => {
    const error = Object.assign(new pg.DatabaseError('temporary file size exceeds', 0, 'error'), {
      code: '53400',
    });
    expect(toAppError(error).code).to.equal('DOCUMENT_TOO_COMPLEX');
  });
});
