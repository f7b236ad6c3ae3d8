import { expect } from 'chai';
import { loadBatch } from '../../../src/db/outbox/batches.js';
import { closeBatch } from '../../../src/db/ledger/closeBatch.js';
import { finishAttempts } from '../../../src/db/ledger/finishAttempts.js';
import { endLostAttempts } from '../../../src/db/ledger/lostAttempts.js';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { countWaiting } from '../../../src/db/ledger/countWaiting.js';
import { dueDeliveries } from '../../../src/db/ledger/dueDeliveries.js';
import { startSending } from '../../../src/db/ledger/startSending.js';
import { sweep } from '../../../src/db/ledger/trackUnended.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { trackDeliveries } from '../../../src/db/ledger/track.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import {
  createRule,
  createTenant,
  NO_LIMITS,
  writeEvents,
  type TestTenant,
} from '../../delivery/pipelineSetup.js';

const LEASE_MS = 60_000;

describe('delivery: a ledger that is only appended to while all goes well', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    tenant = await createTenant(db.database);
  });
  afterEach(async () => {
    await db.drop();
  });

  const record = async (count: number) => {
    const ruleid = await createRule(db.database, tenant, {});
    await writeEvents(db.database, tenant, count);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    const { events } = (await loadBatch(ledger, batches[0]!))!;
    const { ready } = await closeBatch(
      ledger,
      batches[0]!,
      events.map(({ eventid }) => ({ eventid, ruleid })),
      NO_LIMITS,
    );
    return ready.map(({ tenantid, deliveryid, createtime }) => ({ tenantid, deliveryid, createtime }));
  };
  type Keys = Awaited<ReturnType<typeof record>>;
  const start = (keys: Keys) =>
    startSending(
      ledger,
      keys.map((key) => ({
        ...key,
        starts: 0,
        tracked: false,
        recipients: ['a@b.org'],
        subject: 's',
        carrier: 'sendgrid',
        email: null,
      })),
      LEASE_MS,
    );
  const finish = (keys: Keys) =>
    finishAttempts(
      ledger,
      keys.map((key) => ({
        ...key,
        sending: true,
        starts: 1,
        outcome: 'sent' as const,
        httpStatus: 202,
        state: 'sent' as const,
        counted: true,
        providerMessageId: 'm',
        errorCode: null,
        error: null,
        nextAttemptMs: null,
      })),
    );
  const states = async () => {
    const { rows } = await db.database.pool.query<{ state: string; tracked: boolean }>(
      `select e.state, d.tracked from rowpost.email_delivery e join rowpost.delivery d using (tenantid, deliveryid)
       order by deliveryid`,
    );
    return rows.map((row) => `${row.state}${row.tracked ? ' (tracked)' : ''}`);
  };
  /** Makes the last sweep as old as a next one wants it. */
  const sweepNow = async () => {
    await db.database.pool.query(
      `update rowpost.delivery_sweep set time = now() - interval '1 minute'
       where sweepid = (select max(sweepid) from rowpost.delivery_sweep)`,
    );
    return sweep(ledger);
  };

  it('updates and deletes no row of a delivery that is sent at the first attempt', async () => {
    const keys = await record(20);
    expect(await states()).to.deep.equal(Array(20).fill('pending'));
    expect(await start(keys)).to.deep.equal(Array(20).fill(true));
    expect(await states()).to.deep.equal(Array(20).fill('sending'));
    expect(await finish(keys)).to.deep.equal(Array(20).fill(true));
    await sweepNow();
    await sweepNow();
    expect(await states()).to.deep.equal(Array(20).fill('sent'));
    const { rows } = await db.database.pool.query<{ changed: number }>(
      `select count(*)::int as changed from rowpost.delivery where ctid::text not in
         (select '(0,' || n || ')' from generate_series(1, 20) n)`,
    );
    expect(rows[0]!.changed, 'rows that have moved').to.equal(0);
  });

  it('tracks what has not ended between two sweeps, and nothing else', async () => {
    const keys = await record(3);
    await start(keys.slice(0, 2));
    await finish(keys.slice(0, 1));
    expect(await sweepNow(), 'recorded after the last sweep').to.equal(0);
    expect(await sweepNow()).to.equal(2);
    expect(await states()).to.deep.equal(['sent', 'sending (tracked)', 'pending (tracked)']);
    expect(await sweepNow(), 'each is looked at once').to.equal(0);
    const due = await dueDeliveries(ledger, 10);
    expect(due).to.have.length(1);
    expect(due[0]).to.include({ ...keys[2]!, starts: 0 });
    expect(
      await endLostAttempts(ledger, { maxAttempts: 12, limit: 10, idempotentCarriers: [] }),
      'its lease holds',
    ).to.equal(0);
    expect(await finish(keys.slice(1, 2)), 'its end is recorded in its own row').to.deep.equal([true]);
    expect((await states())[1]).to.equal('sent (tracked)');
  });

  it('a delivery that a transaction of long ago records is looked at as well', async () => {
    const client = await db.database.pool.connect();
    try {
      await client.query('begin');
      const keys = await record(1);
      await client.query('select pg_current_xact_id()');
      await client.query(
        `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime)
         select tenantid, eventid + 1000, ruleid, email_type, operation, target, key, delivery, createtime
         from rowpost.delivery where deliveryid = $1`,
        [keys[0]!.deliveryid],
      );
      await sweepNow();
      expect(await sweepNow()).to.equal(1);
      await sweepNow();
      await client.query('commit');
    } finally {
      client.release();
    }
    await sweepNow();
    await sweepNow();
    expect(await states()).to.deep.equal(['pending (tracked)', 'pending (tracked)']);
  });

  it('finds all that has not ended after a dump was restored into a cluster with lower transaction ids', async () => {
    const keys = await record(3);
    await start(keys.slice(0, 1));
    await finish(keys.slice(0, 1));
    await db.database.pool.query(
      `insert into rowpost.delivery_sweep (previous, since, until)
       select max(sweepid), '900000000:900000000:', '900000000:900000000:' from rowpost.delivery_sweep`,
    );
    expect(await sweepNow()).to.equal(2);
    await record(1);
    await sweepNow();
    expect(await sweepNow(), 'goes on in its own ids').to.equal(1);
  });

  it('goes on for more than ten sweeps', async () => {
    for (let round = 0; round < 12; round++) await sweepNow();
    await record(1);
    await sweepNow();
    expect(await sweepNow()).to.equal(1);
  });

  it('several relays that sweep at once leave nothing out', async () => {
    await record(50);
    await sweepNow();
    await Promise.all(Array.from({ length: 4 }, () => sweepNow()));
    expect(await states()).to.deep.equal(Array(50).fill('pending (tracked)'));
  });

  it('tracking and starting at the same moment: one start, which is known', async () => {
    for (let round = 0; round < 30; round++) {
      const keys = await record(1);
      const results = await Promise.all([
        start(keys),
        trackDeliveries(ledger, keys),
        start(keys),
        trackDeliveries(ledger, keys),
      ]);
      const begun = [...results[0], ...results[2]].filter(Boolean).length;
      expect(begun).to.be.at.most(1);
      expect((await states()).at(-1)).to.equal(begun === 1 ? 'sending (tracked)' : 'pending (tracked)');
    }
  });

  it('tracking and ending at the same moment: the end is known', async () => {
    for (let round = 0; round < 30; round++) {
      const keys = await record(1);
      await start(keys);
      const [, ended] = await Promise.all([trackDeliveries(ledger, keys), finish(keys)]);
      expect(ended).to.deep.equal([true]);
      expect((await states()).at(-1)).to.equal('sent (tracked)');
    }
  });

  it("counts each tenant's deliveries that wait, tracked or not", async () => {
    const keys = await record(6);
    await start(keys.slice(0, 4));
    await finish(keys.slice(0, 2));
    await trackDeliveries(ledger, keys.slice(3, 5));
    expect(await countWaiting(ledger)).to.deep.equal(new Map([[tenant.tenantid, 2]]));
  });
});
