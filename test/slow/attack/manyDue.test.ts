import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { countWaiting } from '../../../src/db/ledger/countWaiting.js';
import { statement } from '../../../src/db/sql/sql.js';
import type { DeliveryOrder } from '../../../src/queue/jobs.js';
import { reconcileDeliveries } from '../../../src/relay/reconcile.js';
import { createTenant, type TestTenant } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

/** More than a relay queues in a run. */
const DUE = 60_000;

/**
 * The oldest came first, whoever's they were, and until none were left: those of a tenant that resumed sixty thousand were due again before
 * the last of them was queued, so that others' were queued late and lost ones never found.
 */
describe('attack: very many deliveries that are due at once', () => {
  let db: TestDatabase;
  beforeEach(async () => (db = await createTestDatabase()));
  afterEach(() => db.drop());

  const makeDue = (
    { tenantid }: TestTenant,
    count: number,
    secondsAgo: number,
    after = 0,
  ): Promise<unknown> =>
    db.database.pool.query(
      statement`insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
        state, due, next_attempt, tracked)
      select $1, $1 * 1000000 + $4::int + n, 1, 'welcome', 'insert', 'customer', '{}', 'at_least_once', now(), 'pending', t.due, t.due, true
      from generate_series(1, $2::int) n, lateral (select now() - make_interval(secs => $3::int + n / 10000.0) as due) t`,
      [tenantid, count, secondsAgo, after],
    );

  it("of some tenants don't keep those of others from being queued, ahead of them", async () => {
    const { database } = db;
    const [one, another, other] = [
      await createTenant(database),
      await createTenant(database),
      await createTenant(database),
    ];
    await makeDue(one, DUE / 2, 100);
    await makeDue(another, DUE / 2, 100);
    await makeDue(other, 3, 1);
    const calls: (readonly DeliveryOrder[])[] = [];
    const queue = {
      addDeliveries: (orders: readonly DeliveryOrder[]) => Promise.resolve(void calls.push(orders)),
    };
    await reconcileDeliveries(database.ledger, queue, 12);
    expect(calls[0]!.filter(({ tenantid }) => tenantid === other.tenantid)).to.have.length(3);
    const aheadOf = ({ tenantid }: TestTenant): readonly number[] =>
      calls.flat().flatMap((order) => (order.tenantid === tenantid ? [order.ahead] : []));
    expect(aheadOf(other), 'each has those of its own tenant ahead').to.deep.equal([0, 1, 2]);
    expect(aheadOf(one)).to.deep.equal(aheadOf(one).map((_, index) => index));
    // Of both that are many, as they became due, and each once.
    const queued = calls.flat().map(({ deliveryid }) => deliveryid);
    expect(new Set(queued)).to.have.property('size', queued.length);
    for (const tenant of [one, another]) expect(aheadOf(tenant)).to.have.length.above(1_000);
    expect(queued.length, 'the rest waits for the next run').to.be.below(DUE);
  });

  it('each once, also of a tenant that has a few of the oldest and many others', async () => {
    const { database } = db;
    const [one, another] = [await createTenant(database), await createTenant(database)];
    await makeDue(one, DUE / 2, 100);
    await makeDue(another, 10, 200);
    await makeDue(another, 5_000, 50, 10);
    const queued: string[] = [];
    const queue = {
      addDeliveries: (orders: readonly DeliveryOrder[]) =>
        Promise.resolve(void queued.push(...orders.map(({ deliveryid }) => deliveryid))),
    };
    await reconcileDeliveries(database.ledger, queue, 12);
    expect(new Set(queued)).to.have.property('size', queued.length);
  });

  it('are counted as far as matters to whether more are admitted, five times a second', async () => {
    const { database } = db;
    const [one, other] = [await createTenant(database), await createTenant(database)];
    await makeDue(one, 110_000, 100);
    await makeDue(other, 3, 200);
    const counts = await countWaiting(database.ledger);
    expect(counts.get(other.tenantid)).to.equal(3);
    expect(counts.get(one.tenantid)).to.equal(100_000 - 3);
  });

  it('end the run before lost ones are looked for again', async () => {
    const { database } = db;
    await makeDue(await createTenant(database), DUE, 100);
    let queued = 0;
    const queue = {
      addDeliveries: async (orders: readonly DeliveryOrder[]) => {
        queued += orders.length;
        // They are due again, as if it had taken longer to queue them.
        await database.pool.query(
          statement`update rowpost.delivery set due = now() - interval '1 minute' where due > now()`,
        );
      },
    };
    await reconcileDeliveries(database.ledger, queue, 12);
    expect(queued).to.be.within(2_000, 2 * DUE);
  });

  it('end the run also if each part of them takes long', async () => {
    const { database } = db;
    await makeDue(await createTenant(database), DUE, 100);
    let parts = 0;
    const queue = {
      addDeliveries: async () => {
        parts += 1;
        await delay(700);
      },
    };
    await reconcileDeliveries(database.ledger, queue, 12);
    expect(parts).to.be.within(1, 4);
  });
});
