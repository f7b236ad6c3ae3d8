import { once } from 'node:events';
import { expect } from 'chai';
import { loadBatch, openBatches, type BatchKey, type Batch } from '../../../../src/db/outbox/batches.js';
import type { Ledger } from '../../../../src/db/pool/ledgerPool.js';
import { pollOutbox } from '../../../../src/db/outbox/pollOutbox.js';
import { TenantLimiter } from '../../../../src/foundation/limits/tenantLimiter.js';
import { evaluateRules } from '../../../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../../../src/worker/failedEvaluations.js';
import { startFakeProvider } from '../../../support/fakeProvider.js';
import { testConfig, testLog } from '../../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';
import { waitFor } from '../../../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  forkWorker,
  NO_LIMITS,
  noEngine,
  pipelineEnv,
  startPipeline,
  writeEvents,
  type TestTenant,
} from '../../../delivery/pipelineSetup.js';

describe('a batch of events that ends its workers', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    tenant = await createTenant(db.database);
  });
  afterEach(async () => {
    await db.drop();
  });

  /** A worker that ends while it evaluates the record named deadly, without a word. @returns false when it did. */
  async function begin(key: BatchKey, redelivered: boolean): Promise<boolean> {
    let ends = (): void => undefined;
    const ended = new Promise<false>((resolve) => (ends = () => resolve(false)));
    const engine = {
      ...noEngine,
      evaluateCondition: (...[, , , , events]: Parameters<typeof noEngine.evaluateCondition>) => {
        if (!events.some((event) => event.new?.includes('deadly')))
          return Promise.resolve(events.map(() => true));
        ends();
        return new Promise<boolean[]>(() => undefined);
      },
    };
    const deps = {
      ledger,
      engine,
      limits: NO_LIMITS,
      records: new TenantLimiter({ max: 1 }),
      failed: new FailedEvaluations(),
      log: testLog,
    };
    return Promise.race([ended, evaluateRules(deps, key, redelivered).then(() => true)]);
  }

  const write = async (...names: string[]): Promise<Batch> => {
    for (const name of names) await writeEvents(db.database, tenant, 1, { new: { name } });
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    return batches[0]!;
  };
  const open = async (): Promise<readonly Batch[]> => openBatches(ledger, { minAgeMs: -1_000, limit: 100 });
  const errors = async () =>
    (
      await db.database.pool.query<{ ruleid: string; state: string; error_code: string; error: string }>(
        `select ruleid::text as ruleid, state, error_code, error from rowpost.email_delivery where state <> 'pending'
         order by ruleid`,
      )
    ).rows;

  it('is evaluated event by event, so that one does not take the others along', async () => {
    await createRule(db.database, tenant, { condition: "new.name != ''" });
    const batch = await write('Ada', 'deadly', 'Grace');
    expect(await begin(batch, false)).to.equal(false);
    expect(await begin(batch, true)).to.equal(false);
    // The third one splits it.
    expect(await begin(batch, true)).to.equal(true);
    expect((await loadBatch(ledger, batch))!.done).to.equal(true);
    const alone = await open();
    expect(alone.map(({ events }) => events)).to.deep.equal([1, 1, 1]);
    const ends = await Promise.all(alone.map((each) => begin(each, false)));
    expect(ends).to.deep.equal([true, false, true]);
    expect(await countStates(db.database, tenant.tenantid)).to.deep.equal({ pending: 2 });
  });

  it('of one event is given up after five more starts, and says so: nothing vanishes', async () => {
    const conditional = await createRule(db.database, tenant, { condition: "new.name != ''" });
    const plain = await createRule(db.database, tenant);
    await createRule(db.database, tenant, { operations: ['delete'] });
    const batch = await write('deadly');
    expect(await begin(batch, false)).to.equal(false);
    for (let again = 1; again < 5; again++) expect(await begin(batch, true)).to.equal(false);
    expect(await begin(batch, true)).to.equal(true);
    const error =
      'each worker or database session that evaluated this rule for the change ended while doing so';
    expect(await errors()).to.deep.equal([
      {
        ruleid: conditional,
        state: 'failed',
        error_code: 'POISON',
        error: `${error}; whether its condition holds is not known`,
      },
      { ruleid: plain, state: 'failed', error_code: 'POISON', error },
    ]);
    expect(await open()).to.deep.equal([]);
  });

  it('is split once, by however many workers', async () => {
    await createRule(db.database, tenant);
    const batch = await write('Ada', 'Grace');
    await db.database.pool.query(
      `insert into rowpost.relay_batch_start (batchid, createtime) values ($1, $2), ($1, $2)`,
      [batch.batchid, batch.createtime],
    );
    await Promise.all([1, 2, 3, 4].map(() => begin(batch, true)));
    expect(await open()).to.have.length(2);
  });

  it('leaves the others’ email to leave, with processes that really end', async () => {
    const provider = await startFakeProvider();
    const env = await pipelineEnv('redis', {
      DATABASE_URL: db.url,
      SENDGRID_BASE_URL: provider.url,
      LEASE_MS: '600',
      DEADLY_NAME: 'deadly',
    });
    await createRule(db.database, tenant, { condition: "new.name != ''" });
    await write('Ada', 'deadly', 'Grace');
    const pipeline = await startPipeline(db.database, testConfig(env), { workers: 0 });
    try {
      // Whoever keeps processes running starts a new one for each that ends.
      let deaths = 0;
      const isDelivered = async (): Promise<boolean> =>
        (await countStates(db.database, tenant.tenantid))['sent'] === 2;
      while (!(await isDelivered())) {
        const worker = await forkWorker(env);
        const exited = worker.signalCode === null ? once(worker, 'exit') : undefined;
        await waitFor(
          'the emails, or the end of a worker',
          async () => worker.signalCode !== null || (await isDelivered()),
        );
        worker.kill('SIGKILL');
        await exited;
        deaths += 1;
      }
      expect(deaths).to.be.within(3, 5);
      // A worker may end while it sends another email, which is sent again then, and on record.
      const { rows } = await db.database.pool.query<{ count: number }>(
        "select count(*)::int as count from rowpost.email_attempt where outcome = 'ambiguous'",
      );
      expect(provider.calls.length).to.be.within(2, 2 + rows[0]!.count);
    } finally {
      await pipeline.stop();
      await provider.stop();
    }
  });
});
