import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { storeAccounts } from '../../../src/db/email/emailAccounts.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import {
  createRule,
  createTenant,
  keyRing,
  pipelineConfig,
  startPipeline,
} from '../../delivery/pipelineSetup.js';
import { startFakeApi } from '../../support/fakeApi.js';
import { createTestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const EVENTS = 1_500;
/** Of a row that is loaded with its delivery, before and after its change. */
const CHARACTERS = 60_000;
const SLOTS = 64;
/** One tenant's half of the bytes that may wait without a slot, and of the slots; the rest is what ended meanwhile. */
const MAX_HELD = 16_000_000 / (2 * CHARACTERS) + SLOTS / 2 + 10;

describe('attack: emails about long rows that wait for a call which they share', () => {
  it('hold their slots once their rows take a share of the memory', async () => {
    const test = await createTestDatabase();
    const api = await startFakeApi();
    // A call of one email gets a response, and those that are shared get none.
    api.reply = ({ path }) => {
      if (path !== '/email') return 'hang';
      return { status: 200, body: { ErrorCode: 0, MessageID: '1' } };
    };
    const { database } = test;
    const config = await pipelineConfig('postgres', {
      POSTMARK_BASE_URL: api.url,
      WORKER_CONCURRENCY: String(SLOTS),
      LEASE_MS: '60000',
      SEND_DEADLINE_MS: '30000',
    });
    const tenant = await createTenant(database);
    await createRule(database, tenant);
    await inTransaction(database.pool, (tx) =>
      storeAccounts(tx, keyRing, {
        tenantid: tenant.tenantid,
        transports: JSON.stringify([{ kind: 'postmark', apikey: 'token' }]),
        setBy: tenant.roleid,
        emailsPerSecond: 0,
      }),
    );
    await database.pool.query(
      `insert into rowpost.outbox (tenantid, operation, target, key, old, new)
       select $1, 'insert', 'customer', json_build_object('id', n), json_build_object('t', repeat('a', $3)),
         json_build_object('t', repeat('a', $3)) from generate_series(1, $2::int) n`,
      [tenant.tenantid, EVENTS, CHARACTERS],
    );
    const started = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ count: number }>(
        `select count(*)::int as count from rowpost.delivery_start s where not exists (
           select from rowpost.email_attempt a where a.tenantid = s.tenantid and a.deliveryid = s.deliveryid)`,
      );
      return rows[0]!.count;
    };
    const pipeline = await startPipeline(database, config);
    try {
      await waitFor('a shared call', () => api.calls.some(({ path }) => path !== '/email'));
      let last = -1;
      for (let now = await started(); now !== last; now = await started()) {
        last = now;
        await delay(3_000);
      }
      expect(last).to.be.at.most(MAX_HELD);
    } finally {
      await api.stop();
      await pipeline.stop();
      await test.drop();
    }
  });
});
