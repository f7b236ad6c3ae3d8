import { expect } from 'chai';
import { loadBatch, type Batch } from '../../src/db/outbox/batches.js';
import {
  closeBatch,
  closePlainBatch,
  type ClosedBatch,
  type DeliveryLimits,
} from '../../src/db/ledger/closeBatch.js';
import type { Ledger } from '../../src/db/pool/ledgerPool.js';
import { resumeTenant } from '../../src/db/ledger/pause.js';
import { redriveDeliveries, redriveDelivery } from '../../src/db/ledger/redrive.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { createLogger, type Logger } from '../../src/foundation/observability/log.js';
import { LoopGuardLog } from '../../src/worker/loopGuardLog.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  startPipeline,
  writeEvents,
  type TestTenant,
} from './pipelineSetup.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

describe('limits of delivery', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
  });
  beforeEach(async () => (tenant = await createTenant(db.database)));
  after(async () => {
    await db.drop();
  });

  /** Changes of one record, or of many; made so many seconds ago. @returns their batches */
  async function change(
    count: number,
    options: { id?: number; secondsAgo?: number; batchEvents?: number } = {},
  ) {
    await db.database.pool.query(
      `insert into rowpost.outbox (tenantid, roleid, operation, target, key, time)
       select $1, $2, 'insert', 'customer', json_build_object('id', coalesce($4::int, i)),
         date_trunc('minute', now()) + interval '30 seconds' - $5::int * interval '1 second'
       from generate_series(1, $3::int) i`,
      [tenant.tenantid, tenant.roleid, count, options.id ?? null, options.secondsAgo ?? 0],
    );
    const { batches } = await pollOutbox(ledger, {
      batchEvents: options.batchEvents ?? 500,
      pollEvents: 10_000,
    });
    return batches.filter((batch) => batch.tenantid === tenant.tenantid);
  }

  async function close(
    batch: Batch,
    ruleids: readonly string[],
    limits: Partial<DeliveryLimits>,
    by: Ledger = ledger,
  ): Promise<ClosedBatch> {
    const { events } = (await loadBatch(by, batch))!;
    const matches = events.flatMap(({ eventid }) => ruleids.map((ruleid) => ({ eventid, ruleid })));
    return closeBatch(by, batch, matches, { firesPerMinute: 0, emailsPerSecond: 0, ...limits });
  }

  describe('a rule that fires again and again for one record', () => {
    const limits = { firesPerMinute: 5 };

    it('is held where the rules are matched by the statement that records, too', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [batch] = await change(8, { id: 1 });
      const closed = await closePlainBatch(ledger, batch!, { ...limits, emailsPerSecond: 2 });
      expect(closed?.trips).to.deep.equal([{ ruleid, target: 'customer', skipped: 3 }]);
      expect(closed?.ready).to.have.length(1);
      const delays = closed?.soon.map(({ delayMs }) => Math.round(delayMs / 500));
      expect(delays, 'one every half second').to.deep.equal([1, 2, 3, 4]);
    });

    it('is held beyond the limit: its deliveries are skipped, and say why', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [batch] = await change(8, { id: 1 });
      const closed = await close(batch!, [ruleid], limits);
      expect(closed.ready).to.have.length(5);
      expect(closed.trips).to.deep.equal([{ ruleid, target: 'customer', skipped: 3 }]);
      const { rows } = await db.database.pool.query(
        `select distinct state, error_code, error from rowpost.email_delivery where tenantid = $1 and state <> 'pending'`,
        [tenant.tenantid],
      );
      expect(rows).to.deep.equal([
        {
          state: 'skipped',
          error_code: 'LOOP_TRIPPED',
          error:
            'the rule fired more than 5 times within a minute for this record; it goes on with the next minute',
        },
      ]);
    });

    it('is told from one that fires for many records, and from another rule', async () => {
      const [one, another] = [await createRule(db.database, tenant), await createRule(db.database, tenant)];
      const [many] = await change(50);
      expect((await close(many!, [one], limits)).ready).to.have.length(50);
      const [same] = await change(5, { id: 1000 });
      expect((await close(same!, [one, another], limits)).ready).to.have.length(10);
      const [next] = await change(1, { id: 1000 });
      expect(await close(next!, [one, another], limits)).to.deep.include({ ready: [], soon: [] });
    });

    it('is held to the limit exactly, by many workers at once', async () => {
      const ruleid = await createRule(db.database, tenant);
      const batches = await change(60, { id: 1, batchEvents: 3 });
      expect(batches).to.have.length(20);
      const closed = await Promise.all(
        batches.map((batch) => close(batch, [ruleid], { firesPerMinute: 25 })),
      );
      expect(closed.flatMap(({ ready }) => ready)).to.have.length(25);
      const skipped = closed.flatMap(({ trips }) => trips).reduce((sum, trip) => sum + trip.skipped, 0);
      expect(skipped).to.equal(35);
    });

    it('is counted once for a batch that two workers evaluate', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [first] = await change(3, { id: 1 });
      const twice = await Promise.all([close(first!, [ruleid], limits), close(first!, [ruleid], limits)]);
      expect(twice.flatMap(({ ready }) => ready)).to.have.length(3);
      const [second] = await change(2, { id: 1 });
      expect((await close(second!, [ruleid], limits)).ready).to.have.length(2);
    });

    it('resumes automatically when the minute is over', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [before] = await change(7, { id: 1, secondsAgo: 60 });
      expect((await close(before!, [ruleid], limits)).ready).to.have.length(5);
      const [after] = await change(4, { id: 1 });
      expect((await close(after!, [ruleid], limits)).ready).to.have.length(4);
    });

    it('is determined by when the changes were made: a backlog trips nothing', async () => {
      const ruleid = await createRule(db.database, tenant);
      for (const minutesAgo of [4, 3, 2, 1])
        await change(5, { id: 1, secondsAgo: minutesAgo * 60, batchEvents: 1 });
      const { rows } = await db.database.pool.query<Batch>(
        `select batchid::text as batchid, tenantid, createtime::text as createtime from rowpost.relay_batch
         where tenantid = $1`,
        [tenant.tenantid],
      );
      const closed = await Promise.all(rows.map((batch) => close(batch, [ruleid], limits)));
      expect(closed.flatMap(({ ready }) => ready)).to.have.length(20);
    });

    it('is not counted for conditions that can not be evaluated', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [batch] = await change(8, { id: 1 });
      const { events } = (await loadBatch(ledger, batch!))!;
      const failure = { code: 'CONDITION_FAILED', message: 'x' };
      const matches = events.map(({ eventid }, index) => ({
        eventid,
        ruleid,
        ...(index < 4 ? { failure } : {}),
      }));
      const closed = await closeBatch(ledger, batch!, matches, { ...limits, emailsPerSecond: 0 });
      expect(closed.ready).to.have.length(4);
      expect(closed.trips).to.deep.equal([]);
    });

    it('sends as many as it may, through relays and workers', async () => {
      const provider = await startFakeProvider();
      const env = { SENDGRID_BASE_URL: provider.url, RULE_FIRES_PER_MINUTE: '5', RELAY_BATCH: '4' };
      const config = await pipelineConfig('redis', env);
      const pipeline = await startPipeline(db.database, config, { relays: 2, workers: 2 });
      try {
        await createRule(db.database, tenant);
        await db.database.pool.query(
          `insert into rowpost.outbox (tenantid, roleid, operation, target, key)
           select $1, $2, 'insert', 'customer', '{"id" : 1}' from generate_series(1, 40)`,
          [tenant.tenantid, tenant.roleid],
        );
        await waitFor('40 deliveries at their end', async () => {
          const { sent = 0, skipped = 0 } = await countStates(db.database, tenant.tenantid);
          return sent + skipped === 40;
        });
        expect(await countStates(db.database, tenant.tenantid)).to.deep.equal({ sent: 5, skipped: 35 });
        const mine = provider.calls.filter(({ tenantid }) => tenantid === String(tenant.tenantid));
        expect(mine).to.have.length(5);
      } finally {
        await pipeline.stop();
        await provider.stop();
      }
    });

    it('is logged once a minute', () => {
      const lines: unknown[] = [];
      const log: Logger = createLogger('silent', 'test');
      log.warn = (fields: unknown) => lines.push(fields);
      const trips = new LoopGuardLog(log);
      const trip = { ruleid: '7', target: 'customer', skipped: 3 };
      for (let i = 0; i < 100; i++) trips.report(1, [trip]);
      trips.report(1, [{ ...trip, ruleid: '8' }]);
      expect(lines).to.deep.equal([
        { tenantid: 1, ruleid: '7', target: 'customer', skipped: 3 },
        { tenantid: 1, ruleid: '8', target: 'customer', skipped: 3 },
      ]);
    });
  });

  describe('a tenant whose rate is capped', () => {
    it('has its deliveries spread over time, by many workers at once', async () => {
      const ruleid = await createRule(db.database, tenant);
      const batches = await change(40, { batchEvents: 4 });
      const closed = await Promise.all(
        batches.map((batch) => close(batch, [ruleid], { emailsPerSecond: 20 })),
      );
      expect(closed.flatMap(({ ready, soon }) => [...ready, ...soon])).to.have.length(40);
      const { rows } = await db.database.pool.query<{ gap: number | null }>(
        `select round(1000 * extract(epoch from slot - lag(slot) over (order by slot)))::int as gap from (
           select coalesce(next_attempt, xact) as slot from rowpost.delivery, (select now() as xact) n
           where tenantid = $1 and next_attempt is not null) s`,
        [tenant.tenantid],
      );
      // Between any two turns of one tenant lies the twentieth of a second, or more where nobody was waiting.
      for (const { gap } of rows.slice(1)) expect(gap).to.be.at.least(49);
    });

    it('leaves what comes much later to the relay', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [batch] = await change(20);
      const closed = await close(batch!, [ruleid], { emailsPerSecond: 2 });
      expect([closed.ready.length, closed.soon.length]).to.deep.equal([1, 10]);
      expect(closed.soon.map(({ delayMs }) => Math.round(delayMs / 100))).to.deep.equal([
        5, 10, 15, 20, 25, 30, 35, 40, 45, 50,
      ]);
      const { rows } = await db.database.pool.query(
        `select count(*)::int as count from rowpost.delivery where tenantid = $1 and tracked and state = 'pending'
           and due between next_attempt - interval '6 seconds' and next_attempt + interval '6 seconds'`,
        [tenant.tenantid],
      );
      expect(rows).to.deep.equal([{ count: 19 }]);
    });

    it('leaves nothing to look after where the first may go at once: its attempt says how it ended', async () => {
      const ruleid = await createRule(db.database, tenant);
      const [batch] = await change(1);
      const closed = await close(batch!, [ruleid], { emailsPerSecond: 2 });
      expect(closed.ready).to.have.length(1);
      const { rows } = await db.database.pool.query(
        'select tracked, due from rowpost.delivery where tenantid = $1',
        [tenant.tenantid],
      );
      expect(rows).to.deep.equal([{ tracked: false, due: null }]);
    });

    it('gives new turns to what is resumed or redriven, together or one by one', async () => {
      const { pool } = db.database;
      const insert = async (state: string): Promise<readonly string[]> => {
        const { rows } = await pool.query<{ deliveryid: string }>(
          `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery,
             createtime, state, tracked)
           select $1, i, 1, 'welcome', 'insert', 'customer', '{}', 'at_least_once', clock_timestamp(), $2, true
           from generate_series(1, 100) i returning deliveryid::text as deliveryid`,
          [tenant.tenantid, state],
        );
        return rows.map((row) => row.deliveryid);
      };
      const [first = '', second = '', ...failed] = await insert('failed');
      await insert('paused');
      await inTransaction(pool, (tx) => redriveDelivery(tx, tenant.tenantid, first, 50));
      await inTransaction(pool, (tx) => redriveDelivery(tx, tenant.tenantid, second, 50));
      await inTransaction(pool, (tx) => redriveDeliveries(tx, tenant.tenantid, failed, 50));
      await inTransaction(pool, (transaction) => resumeTenant(transaction, tenant.tenantid, 50));
      const { rows } = await pool.query<{ gaps: number[]; span: number; ahead: boolean }>(
        `select array_agg(distinct gap) filter (where gap is not null) as gaps, extract(epoch from max(slot) - min(slot))::float8 as span,
           bool_and(due <= slot + interval '1 second' and due >= slot - interval '5 seconds') as ahead
         from (select next_attempt as slot, due,
             round(1000 * extract(epoch from next_attempt - lag(next_attempt) over (order by next_attempt)))::int as gap
           from rowpost.delivery where tenantid = $1 and state = 'pending') s`,
        [tenant.tenantid],
      );
      expect(rows).to.deep.equal([{ gaps: [20], span: 3.98, ahead: true }]);
    });

    describe('through relays and workers', () => {
      let provider: FakeProvider;
      before(async () => (provider = await startFakeProvider()));
      after(() => provider.stop());

      it('sends at its rate, and slows no other down', async () => {
        const config = await pipelineConfig('postgres', {
          SENDGRID_BASE_URL: provider.url,
          TENANT_EMAILS_PER_SECOND: '30',
          RELAY_BATCH: '10',
        });
        const pipeline = await startPipeline(db.database, config, { relays: 2, workers: 2 });
        try {
          const other = await createTenant(db.database);
          await createRule(db.database, tenant);
          await createRule(db.database, other);
          const startedAt = Date.now();
          await writeEvents(db.database, tenant, 60);
          await waitFor('a first email', () => provider.calls.length > 0);
          await writeEvents(db.database, other, 1);
          const callsOf = ({ tenantid }: TestTenant) =>
            provider.calls.filter((call) => call.tenantid === String(tenantid));
          const theirs = await waitFor("the other tenant's email", () => callsOf(other)[0]);
          await waitFor(
            'all emails',
            async () => (await countStates(db.database, tenant.tenantid))['sent'] === 60,
          );
          const times = callsOf(tenant).map(({ atMs }) => atMs);
          // None before its turn. A machine that is held up is late with some, and then catches up.
          times.forEach((atMs, turn) => expect(atMs).to.be.at.least(startedAt + (turn * 1000) / 30 - 50));
          expect(theirs.atMs).to.be.below(times[50]!);
        } finally {
          await pipeline.stop();
        }
      });
    });
  });
});
