import { expect } from 'chai';
import { readLowWaterMark } from '../../src/db/delivery/lowWaterMark.js';
import type { Ledger } from '../../src/db/connection/ledger.js';
import { tick, type Batch } from '../../src/db/delivery/tick.js';
import type { Queue } from '../../src/queue/queue.js';
import { Admission } from '../../src/relay/admission.js';
import { Reconciler } from '../../src/relay/reconcile.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { createRule, createTenant, writeEvents } from './pipelineSetup.js';

describe('delivery: where a relay that starts begins to look for open batches', () => {
  let db: TestDatabase;
  let ledger: Ledger;

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
  });
  after(async () => {
    await db.drop();
  });

  it('is the oldest batch that was not done when another relay looked', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, {});
    await writeEvents(db.database, tenant, 5);
    const { batches } = await tick(ledger, { batchEvents: 1, tickEvents: 100 });
    await db.database.pool.query(
      `update rowpost.relay_batch set createtime = createtime - interval '10 seconds'`,
    );
    await db.database.pool.query(
      `insert into rowpost.relay_batch_done (batchid, createtime)
       select batchid, createtime from rowpost.relay_batch where batchid <> all ($1::bigint[])`,
      [[batches[2]!.batchid, batches[4]!.batchid]],
    );
    const offered = await reconcile();
    expect(offered).to.deep.equal([batches[2]!.batchid, batches[4]!.batchid]);
    expect(await readLowWaterMark(ledger)).to.equal(batches[2]!.batchid);
    expect(await reconcile(), 'a relay that starts now').to.deep.equal(offered);
  });

  /** One look of a relay that has just started. @returns the batches that it gave to the queue */
  async function reconcile(): Promise<readonly string[]> {
    const offered: string[] = [];
    const queue = {
      addBatches: (jobs: readonly Pick<Batch, 'batchid'>[]) => {
        offered.push(...jobs.map((job) => job.batchid));
        return Promise.resolve();
      },
    } as unknown as Queue;
    const admission = new Admission(1_000);
    await new Reconciler({ ledger, queue, admission, maxAttempts: 12 }).batches();
    return offered;
  }
});
