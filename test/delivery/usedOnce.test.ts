import { expect } from 'chai';
import { closePlainBatch } from '../../src/db/ledger/closeBatch.js';
import { endedBatches, type Batch } from '../../src/db/outbox/batches.js';
import { recordEmailEvents } from '../../src/db/email/emailEvents.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { batchJobId, deliveryJobId } from '../../src/queue/jobs.js';
import { Admission } from '../../src/relay/admission.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { createRule, createTenant, NO_LIMITS, writeEvents, type TestTenant } from './pipelineSetup.js';

describe('delivery: ids that leave the database, which then goes back in time', () => {
  let db: TestDatabase;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant, {});
  });
  afterEach(async () => {
    await db.drop();
  });

  it('are never used for another delivery', async () => {
    const before = await deliver(40);
    expect(before.map(Number).every(Number.isSafeInteger)).to.equal(true);
    await goBack();
    const after = await deliver(40);
    expect(new Set([...before, ...after])).to.have.length(80);
    expect([...before, ...after], 'in order').to.deep.equal(
      [...before, ...after].sort((a, b) => Number(a) - Number(b)),
    );
    expect(jobIdOf(after[0]!)).to.not.equal(jobIdOf(before[0]!));
  });

  it('are not recorded at another delivery when the provider reports on them', async () => {
    const [lost] = await deliver(1);
    await goBack();
    const [next] = await deliver(1);
    const event = (deliveryid: string) => ({
      deliveryid,
      providerEventId: `e-${deliveryid}`,
      event: 'bounce',
      time: new Date().toISOString(),
      recipient: 'ada@example.com',
      reason: null,
      status: null,
      type: 'bounce',
      url: null,
      suppress: null,
    });
    const recorded = await recordEmailEvents(
      db.database.ledger,
      tenant.tenantid,
      [event(lost!), event(next!)],
      null,
    );
    expect(recorded).to.deep.equal({
      recorded: new Map([['bounce', 1]]),
      repeated: 0,
      foreign: 1,
      excess: 0,
      refused: 0,
    });
  });

  it('are not the job ids of other batches', async () => {
    const [lost] = await batch(1);
    await goBack();
    const [next] = await batch(1);
    expect(next!.batchid, 'given out again').to.equal(lost!.batchid);
    expect(batchJobId({ ...next!, ahead: 0 })).to.not.equal(batchJobId({ ...lost!, ahead: 0 }));
    expect(batchJobId({ ...next!, ahead: 9 })).to.equal(batchJobId({ ...next!, ahead: 0 }));
    expect(batchJobId({ ...next!, ahead: 0 })).to.match(/^[\w-]*[a-z][\w-]*$/);
  });

  it('of batches that are gone hold nobody up', async () => {
    const admission = new Admission({ min: 10, max: 10 });
    const lost = await batch(10);
    expect(admission.offer(lost)).to.have.length(1);
    expect(await endedBatches(db.database.ledger, admission.admitted)).to.deep.equal([]);
    await goBack();
    const next = await batch(10);
    expect(admission.offer(next), 'the tenant is at its limit').to.deep.equal([]);
    const ended = await endedBatches(db.database.ledger, admission.admitted);
    const admitted = admission.recount(new Map(), ended);
    expect(admitted.map(({ createtime }) => createtime)).to.deep.equal([next[0]!.createtime]);
  });

  const jobIdOf = (deliveryid: string): string =>
    deliveryJobId({
      tenantid: tenant.tenantid,
      deliveryid,
      createtime: '2026-01-01',
      starts: 0,
      delayMs: 0,
    });

  async function batch(events: number): Promise<readonly Batch[]> {
    await writeEvents(db.database, tenant, events);
    return (await pollOutbox(db.database.ledger, { batchEvents: 100, pollEvents: 1_000 })).batches;
  }

  /** @returns the ids of new deliveries */
  async function deliver(events: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const key of await batch(events)) {
      const closed = await closePlainBatch(db.database.ledger, key, NO_LIMITS);
      ids.push(...closed!.ready.map(({ deliveryid }) => deliveryid));
    }
    return ids;
  }

  /** Takes all events, batches and deliveries back, and every sequence to its start: as an older backup would. */
  async function goBack(): Promise<void> {
    const tables = ['delivery', 'relay_batch_done', 'relay_batch', 'relay_batch_mark', 'outbox'];
    for (const table of tables) await db.database.pool.query(`delete from rowpost.${table}`);
    await db.database.pool.query(
      `select setval(c.oid::regclass, 1, false) from pg_class c
       where c.relkind = 'S' and c.relnamespace = 'rowpost'::regnamespace
         and c.relname ~ '^(outbox|relay_batch|email_delivery|delivery)_'`,
    );
  }
});
