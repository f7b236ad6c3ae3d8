import { expect } from 'chai';
import pg from 'pg';
import { waitFor } from '../../support/waitFor.js';
import {
  createFleet,
  createOrders,
  FLEET_PG_POOL,
  emailsPerOrder,
  ORDERS,
  setUpConfirmations,
  type Fleet,
} from '../../processes/fleet.js';

describe('connections to PostgreSQL', () => {
  let fleet: Fleet;

  before(async () => {
    fleet = await createFleet({ postgres: 18, redisUrl: undefined });
    for (const part of ['web', 'relay', 'worker'] as const) await fleet.start(part);
    await setUpConfirmations(fleet);
  });
  after(() => fleet.stop());

  it('of one process are never more than PG_POOL, the queue in PostgreSQL included', async () => {
    const most = new Map<string, number>();
    const observer = new pg.Client({ connectionString: fleet.testDatabase.url });
    await observer.connect();
    const done = new AbortController();
    const observing = (async () => {
      while (!done.signal.aborted) {
        const { rows } = await observer.query<{ name: string; count: number }>(
          `select substring(application_name from '^rowpost \\w+') as name, count(*)::int as count from pg_stat_activity
            where datname = current_database() and application_name ~ '^rowpost (web|relay|worker) [0-9]' group by 1`,
        );
        for (const { name, count } of rows) most.set(name, Math.max(most.get(name) ?? 0, count));
      }
    })();
    try {
      await createOrders(fleet, ORDERS);
      await waitFor('every email', () => emailsPerOrder(fleet).size >= ORDERS);
    } finally {
      done.abort();
      await observing;
      await observer.end();
    }
    expect([...most.keys()].sort()).to.deep.equal(['rowpost relay', 'rowpost web', 'rowpost worker']);
    for (const [name, count] of most) expect(count, name).to.be.within(2, FLEET_PG_POOL);
  });
});
