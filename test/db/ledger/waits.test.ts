import { expect } from 'chai';
import type { DeliveryKey } from '../../../src/db/ledger/deliveryKey.js';
import { closePlainBatch } from '../../../src/db/ledger/closeBatch.js';
import { finishAttempts } from '../../../src/db/ledger/finishAttempts.js';
import { extendLeases } from '../../../src/db/ledger/leases.js';
import { countRedeliveredStart } from '../../../src/db/ledger/lostAttempts.js';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { loadDeliveries } from '../../../src/db/ledger/loadDeliveries.js';
import { makePartitions } from '../../../src/db/outbox/partitions.js';
import { startSending } from '../../../src/db/ledger/startSending.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { trackDeliveries } from '../../../src/db/ledger/track.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import { createRule, createTenant, NO_LIMITS, writeEvents } from '../../delivery/pipelineSetup.js';

const DAY_MS = 24 * 3600 * 1000;

describe('delivery: what waits for another session, and then looks again', () => {
  let db: TestDatabase;
  let ledger: Ledger;

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    // From the day before yesterday on: today's is not the first.
    await makePartitions(ledger, Date.now() - 2 * DAY_MS, 4);
  });
  after(async () => {
    await db.drop();
  });

  const deliver = async (count: number): Promise<readonly DeliveryKey[]> => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, count);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    return (await closePlainBatch(ledger, batches[0]!, NO_LIMITS))!.ready;
  };
  const start = (keys: readonly DeliveryKey[], rest: { starts: number; tracked: boolean }) => {
    const email = { ...rest, recipients: ['a@b.org'], subject: 's', carrier: 'sendgrid', email: null };
    return startSending(
      ledger,
      keys.map((key) => ({ ...key, ...email })),
      60_000,
    );
  };
  const end = { outcome: 'sent', state: 'sent', providerMessageId: 'm', httpStatus: 202 } as const;
  const finish = (keys: readonly DeliveryKey[], starts: number) => {
    const rest = { starts, sending: true, counted: true, errorCode: null, error: null, nextAttemptMs: null };
    return finishAttempts(
      ledger,
      keys.map((key) => ({ ...key, ...end, ...rest })),
    );
  };
  /** Runs it while another session has changed the rows and has not committed yet. */
  const beside = async <T>(
    keys: readonly DeliveryKey[],
    run: () => Promise<T>,
    change = 'due = due',
  ): Promise<T> => {
    const other = await db.database.pool.connect();
    try {
      await other.query('begin');
      await other.query(`update rowpost.delivery set ${change} where deliveryid = any ($1)`, [
        keys.map((key) => key.deliveryid),
      ]);
      const response = run();
      await waitFor('it to wait', async () => {
        const { rows } = await db.database.pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });
      await other.query('commit');
      return await response;
    } finally {
      other.release();
    }
  };

  it('starts and ends first attempts', async () => {
    const keys = await deliver(20);
    const all = keys.map(() => true);
    expect(await beside(keys, () => start(keys, { starts: 0, tracked: false }))).to.deep.equal(all);
    expect(await beside(keys, () => finish(keys, 1))).to.deep.equal(all);
    // An end that the first statement did not record would have tracked its delivery.
    const loaded = await loadDeliveries(ledger, keys);
    expect(loaded.filter((delivery) => delivery?.tracked !== false)).to.deep.equal([]);
  });

  it('starts, renews and ends attempts of tracked deliveries', async () => {
    const keys = await deliver(20);
    const all = keys.map(() => true);
    await trackDeliveries(ledger, keys);
    expect(await beside(keys, () => start(keys, { starts: 0, tracked: true }))).to.deep.equal(all);
    const inHand = keys.map((key) => ({ ...key, starts: 1, sending: true }));
    expect(await beside(keys, () => extendLeases(ledger, inHand, 60_000))).to.deep.equal(all);
    expect(await beside(keys, () => finish(keys, 1))).to.deep.equal(all);
  });

  it('starts all of them, also the one that is tracked meanwhile, and that once', async () => {
    const keys = await deliver(20);
    const [first] = keys;
    const all = keys.map(() => true);
    expect(
      await beside([first!], () => start(keys, { starts: 0, tracked: false }), 'tracked = true'),
    ).to.deep.equal(all);
    expect(await start(keys, { starts: 0, tracked: false })).to.deep.equal(all.map(() => false));
  });

  it('counts a repeated start', async () => {
    const [key] = await deliver(1);
    await trackDeliveries(ledger, [key!]);
    expect(await beside([key!], () => countRedeliveredStart(ledger, { ...key!, starts: 0 }))).to.equal(true);
  });
});
