import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import {
  countStates,
  createRule,
  createTenant,
  noEngine,
  pipelineConfig,
  startPipeline,
} from '../../delivery/pipelineSetup.js';
import { startFakeProvider } from '../../support/fakeProvider.js';
import { createTestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const EVENTS = 24;
/** PostgreSQL compresses them to a hundredth. */
const CHARACTERS = 8_000_000;

describe('attack: changes of many large rows', () => {
  for (const condition of [null, "new.t = 'x'"]) {
    it(`are in a worker's memory one after the other, with the condition ${condition}`, async () => {
      const test = await createTestDatabase();
      const provider = await startFakeProvider();
      const { database } = test;
      const config = await pipelineConfig('postgres', {
        SENDGRID_BASE_URL: provider.url,
        LEASE_MS: '10000',
        SEND_DEADLINE_MS: '6000',
        RELAY_BATCH: '1',
      });
      const tenant = await createTenant(database);
      const other = await createTenant(database);
      for (const each of [tenant, other]) await createRule(database, each, { condition });
      const checked: number[] = [];
      let [inFlight, mostInFlight] = [0, 0];
      const engine = {
        ...noEngine,
        evaluateCondition: async (...[, , , , events]: Parameters<typeof noEngine.evaluateCondition>) => {
          const lengths = events.map((event) => (event.old?.length ?? 0) + (event.new?.length ?? 0));
          checked.push(...lengths);
          const length = lengths.reduce((sum, each) => sum + each, 0);
          inFlight += length;
          mostInFlight = Math.max(mostInFlight, inFlight);
          await delay(50);
          inFlight -= length;
          return events.map(() => true);
        },
      };
      const write = (tenantid: number, count: number, length: number): Promise<unknown> =>
        database.pool.query(
          `insert into rowpost.outbox (tenantid, operation, target, key, old, new)
           select $1, 'insert', 'customer', json_build_object('id', n), json_build_object('t', repeat('a', $3)),
             json_build_object('t', repeat('a', $3)) from generate_series(1, $2::int) n`,
          [tenantid, count, length],
        );
      await write(tenant.tenantid, EVENTS, CHARACTERS);
      await write(other.tenantid, EVENTS, 10);
      const before = process.memoryUsage().rss;
      let peak = 0;
      const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss - before)), 10);
      const pipeline = await startPipeline(database, config, { engine });
      try {
        for (const { tenantid } of [tenant, other]) {
          const areSent = async () => (await countStates(database, tenantid))['sent'] === EVENTS;
          await waitFor('all emails', areSent, { timeoutMs: 300_000 });
        }
      } finally {
        clearInterval(timer);
        await pipeline.stop();
        await provider.stop();
        await test.drop();
      }
      if (condition !== null)
        expect(checked.filter((length) => length > 2 * CHARACTERS)).to.have.length(EVENTS);
      expect(mostInFlight / 2 ** 20).to.be.below(50);
      // It was 1,200 and more.
      expect(peak / 2 ** 20).to.be.below(700);
    });
  }
});
