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
} from '../../processes/fleet.js';

/** The oldest PostgreSQL that we support and the newest, with Redis and without; test/processes/kill has the third pair. */
const INSTALLATIONS = [
  { name: 'Redis and PostgreSQL 15', postgres: 15, redis: true },
  { name: 'PostgreSQL 18 alone', postgres: 18, redis: false },
] as const;

for (const { name, postgres, redis } of INSTALLATIONS) {
  describe(`separate processes, on ${name}`, function () {
    let fleet: Fleet;

    before(async () => {
      fleet = await createFleet({
        postgres,
        redisUrl: redis ? await createTestRedis() : undefined,
        settings: { RENDER_PROCESSES: '2' },
      });
      await Promise.all(
        (['web', 'web', 'relay', 'relay', 'worker', 'worker'] as const).map((part) => fleet.start(part)),
      );
      await setUpConfirmations(fleet);
    });
    after(() => fleet.stop());

    it(`${ORDERS} mutations from 16 clients through 2 relays and 2 workers are ${ORDERS} emails`, async () => {
      const { acknowledged, unknown } = await createOrders(fleet, ORDERS);
      expect(unknown).to.deep.equal([]);
      expect(acknowledged).to.have.lengthOf(ORDERS);
      await waitFor('every email', () => emailsPerOrder(fleet).size >= ORDERS);
      await waitFor('every delivery to be recorded', async () => {
        const { rows } = await fleet.testDatabase.database.pool.query<{ open: string }>(
          `select count(*) as open from rowpost.email_delivery where state <> 'sent'`,
        );
        return rows[0]!.open === '0';
      });
      const twice = [...emailsPerOrder(fleet)].filter(([, emails]) => emails !== 1);
      expect(twice).to.deep.equal([]);
      const [first] = fleet.provider.calls;
      expect(first).to.include({ apiKey: 'SG.fleet', path: '/v3/mail/send' });
    });
  });
}
