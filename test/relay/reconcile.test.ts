import { expect } from 'chai';
import { closePlainBatch } from '../../src/db/ledger/closeBatch.js';
import type { Ledger } from '../../src/db/pool/ledgerPool.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { trackDeliveries } from '../../src/db/ledger/track.js';
import type { DeliveryOrder } from '../../src/queue/jobs.js';
import { reconcileDeliveries } from '../../src/relay/reconcile.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../delivery/pipelineSetup.js';

describe('delivery: the reconciler', () => {
  let db: TestDatabase;
  let ledger: Ledger;

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
  });
  after(async () => {
    await db.drop();
  });

  it('adds due deliveries even if an earlier step fails, and logs that', async () => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 1);
    const [batch] = (await pollOutbox(ledger, { batchEvents: 10, pollEvents: 100 })).batches;
    const { ready } = (await closePlainBatch(ledger, batch!, NO_LIMITS))!;
    await trackDeliveries(ledger, ready);

    const added: DeliveryOrder[] = [];
    const queue: Parameters<typeof reconcileDeliveries>[1] = {
      addDeliveries: (orders) => Promise.resolve(void added.push(...orders)),
    };
    const failure = await reconcileDeliveries(failingAt(ledger, 'sweep_last'), queue, 3).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.an('error').with.property('message', 'the session ended in sweep_last');
    expect(added.map(({ deliveryid }) => deliveryid)).to.deep.equal([ready[0]!.deliveryid]);
  });
});

/** The ledger, with sessions that end whenever they run one statement. */
function failingAt(ledger: Ledger, name: string): Ledger {
  return {
    ...ledger,
    query: (statement, values) =>
      statement.name === name
        ? Promise.reject(new Error(`the session ended in ${name}`))
        : ledger.query(statement, values),
  };
}
