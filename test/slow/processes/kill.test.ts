import { expect } from 'chai';
import { createTestRedis } from '../../support/testRedis.js';
import { waitFor } from '../../support/waitFor.js';
import {
  createFleet,
  createOrders,
  emailsPerOrder,
  ORDERS,
  setUpConfirmations,
  type Fleet,
  type PartName,
} from '../../processes/fleet.js';

const RECOVERY_MS = 300_000;

/** `npm run fault` kills each at every point of its work, on both queues. */
const CASES: readonly { readonly victim: PartName; readonly redis: boolean }[] = [
  { victim: 'worker', redis: true },
  { victim: 'worker', redis: false },
  { victim: 'relay', redis: true },
  { victim: 'web', redis: false },
];

for (const { victim, redis } of CASES) {
  describe(`kill -9 of the ${victim}, ${redis ? 'on Redis' : 'without Redis'}`, function () {
    let fleet: Fleet;

    before(async () => {
      fleet = await createFleet({ postgres: 18, redisUrl: redis ? await createTestRedis() : undefined });
    });
    after(() => fleet.stop());

    it('loses no acknowledged change, and accounts for every duplicate', async () => {
      const parts = new Map(
        await Promise.all(
          (['web', 'relay', 'worker'] as const).map(async (part) => [part, await fleet.start(part)] as const),
        ),
      );
      // The second web process responds while the first one is away.
      if (victim === 'web') await fleet.start('web');
      await setUpConfirmations(fleet);

      let killed: Promise<unknown> | undefined;
      const { acknowledged, unknown } = await createOrders(fleet, ORDERS, (total) => {
        if (total === ORDERS / 2) {
          killed = parts
            .get(victim)!
            .kill('SIGKILL')
            .then(() => fleet.start(victim));
        }
      });
      expect(killed, 'the process was killed in the middle').to.not.equal(undefined);
      await killed;
      if (victim !== 'web') expect(unknown).to.deep.equal([]);

      await waitFor(
        'the email of every acknowledged order',
        () => {
          const emails = emailsPerOrder(fleet);
          return acknowledged.every((id) => emails.has(id));
        },
        { timeoutMs: RECOVERY_MS },
      );
      await expectOnlyCommittedOrders(fleet);
      await expectDuplicatesRecorded(fleet);
    });
  });
}

/** A mutation without a response has either both its row and its email, or neither. */
async function expectOnlyCommittedOrders(fleet: Fleet): Promise<void> {
  const { orders } = await fleet.request<{ orders: { order_id: string }[] }>(
    '/query',
    `{ orders(limit: ${ORDERS}) { order_id } }`,
  );
  const committed = new Set(orders.map(({ order_id }) => Number(order_id)));
  await waitFor('the email of every committed order', () => {
    const emails = emailsPerOrder(fleet);
    return [...committed].every((id) => emails.has(id));
  });
  expect([...emailsPerOrder(fleet).keys()].filter((id) => !committed.has(id))).to.deep.equal([]);
}

/** What was accepted more than once has an attempt for each, one of them recorded as ambiguous. */
async function expectDuplicatesRecorded(fleet: Fleet): Promise<void> {
  for (const [deliveryid, emails] of fleet.provider.acceptedPerDelivery()) {
    if (emails === 1) continue;
    const attempts = await waitFor('the attempts to be recorded', async () => {
      const { rows } = await fleet.testDatabase.database.pool.query<{ outcome: string }>(
        'select outcome from rowpost.email_attempt where deliveryid = $1',
        [deliveryid],
      );
      return rows.length >= emails ? rows : undefined;
    });
    expect(attempts.filter(({ outcome }) => outcome === 'ambiguous')).to.have.lengthOf(emails - 1);
  }
}
