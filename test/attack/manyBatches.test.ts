import { expect } from 'chai';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import type { BatchJob } from '../../src/queue/jobs.js';
import { Admission } from '../../src/relay/admission.js';
import { reconcileBatches } from '../../src/relay/reconcile.js';
import { createRule, createTenant, writeEvents } from '../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** More than a relay reads at a time. */
const BATCHES = 2_500;

describe('attack: a backlog of small batches', () => {
  let db: TestDatabase;
  beforeEach(async () => (db = await createTestDatabase()));
  afterEach(() => db.drop());

  it('does not hide what another tenant lost', async () => {
    const { database } = db;
    const [hostile, other] = await Promise.all([createTenant(database), createTenant(database)]);
    const changes = [
      [hostile, BATCHES],
      [other, 1],
      [hostile, 1],
    ] as const;
    for (const tenant of [hostile, other]) await createRule(database, tenant);
    for (const [tenant, events] of changes) {
      await writeEvents(database, tenant, events);
      // Its relay ends before it queues them.
      await pollOutbox(database.ledger, { batchEvents: 1, pollEvents: BATCHES });
    }
    await database.pool.query(`update rowpost.relay_batch set createtime = now() - interval '10 seconds'`);

    const queued: BatchJob[] = [];
    const queue = { addBatches: (jobs: readonly BatchJob[]) => Promise.resolve(void queued.push(...jobs)) };
    await reconcileBatches(database.ledger, queue, new Admission());
    expect(queued.filter(({ tenantid }) => tenantid === other.tenantid)).to.have.length(1);
    const ids = queued
      .filter(({ tenantid }) => tenantid === hostile.tenantid)
      .map(({ batchid }) => Number(batchid));
    expect(ids, 'the oldest first').to.deep.equal(ids.map((_, index) => Math.min(...ids) + index));
  });
});
