import { expect } from 'chai';
import pg from 'pg';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { readBacklog } from '../../../src/db/outbox/backlog.js';
import { overdueIn } from '../../../src/db/ledger/backlogAlarm.js';
import { resumeTenant } from '../../../src/db/ledger/pause.js';
import { redriveDelivery } from '../../../src/db/ledger/redrive.js';
import { sweep } from '../../../src/db/ledger/trackUnended.js';
import { pollOutbox } from '../../../src/db/outbox/pollOutbox.js';
import { createRule, createTenant, writeEvents, type TestTenant } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { fixed } from '../../../src/db/sql/sql.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const LIMITS = { batchEvents: 100, pollEvents: 10_000 };

describe('the backlog', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;
  let nextEvent = 1_000_000;

  beforeEach(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
    tenant = await createTenant(db.database);
    await createRule(db.database, tenant, {});
  });
  afterEach(() => db.drop());

  it('counts a change from its commit on, in each place where it waits, once', async () => {
    await writeEvents(db.database, tenant, 3);
    await db.database.pool.query(`update rowpost.outbox set time = now() - interval '2 minutes'`);
    const unread = await readBacklog(ledger);
    expect(unread).to.include({ unreadEvents: 3, openBatches: 0, openBatchSeconds: null, waiting: 0 });
    expect(unread.unreadSeconds).to.be.within(119, 150);

    await pollOutbox(ledger, LIMITS);
    const batched = await readBacklog(ledger);
    expect(batched).to.include({ unreadEvents: 0, unreadSeconds: null, openBatches: 1, waiting: 0 });
    expect(batched.openBatchSeconds, 'from the change, not from the batch').to.be.within(119, 150);
    expect(batched.tenants).to.deep.equal([{ tenantid: tenant.tenantid, waiting: 3 }]);

    await db.database.pool.query(
      `insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from rowpost.relay_batch`,
    );
    await deliver(3, { createtime: '-2 minutes' });
    const recorded = await readBacklog(ledger);
    expect(recorded).to.include({ openBatches: 0, waiting: 3, retries: 0 });
    expect(recorded.waitingSeconds).to.be.within(119, 150);
    await db.database.pool.query(`update rowpost.delivery_sweep set time = now() - interval '1 hour'`);
    await sweep(ledger);
    await db.database.pool.query(`update rowpost.delivery_sweep set time = now() - interval '1 hour'`);
    await sweep(ledger);
    expect(await readBacklog(ledger), 'tracked').to.include({ waiting: 3, retries: 0 });
  });

  it('includes the events of a transaction that was open when the relay last looked', async () => {
    const slow = new pg.Client(db.url);
    await slow.connect();
    try {
      await slow.query('begin');
      await slow.query(
        `insert into rowpost.outbox (tenantid, roleid, operation, target, key) values ($1, 1, 'insert', 'customer', '{}')`,
        [tenant.tenantid],
      );
      await writeEvents(db.database, tenant, 1);
      await pollOutbox(ledger, LIMITS);
      expect(await readBacklog(ledger)).to.include({ unreadEvents: 0 });
      await slow.query('commit');
      expect(await readBacklog(ledger)).to.include({ unreadEvents: 1 });
    } finally {
      await slow.end();
    }
  });

  it('includes events that no relay has read since the database was restored from a dump', async () => {
    await db.database.pool.query(
      `insert into rowpost.relay_poll (previous, snapshot, time)
       select max(pollid), '4000000000:4000000000:', now() - interval '5 minutes' from rowpost.relay_poll`,
    );
    await writeEvents(db.database, tenant, 2);
    expect(await readBacklog(ledger)).to.include({ unreadEvents: 2 });
  });

  it('takes what waits on purpose for nothing that is stuck, and shows it apart', async () => {
    const paused = await createTenant(db.database);
    const limited = await createTenant(db.database);
    await db.database.pool.query(
      `update rowpost.email_apikey set paused_code = 'APIKEY_REFUSED' where tenantid = $1`,
      [paused.tenantid],
    );
    await db.database.pool.query(
      `update rowpost.email_apikey set wait_until = now() + interval '1 minute' where tenantid = $1`,
      [limited.tenantid],
    );
    const old = { createtime: '-1 hour', due: '0' } as const;
    await deliver(1, { ...old, state: 'paused', due: null, of: paused });
    await deliver(1, { ...old, of: paused });
    await deliver(1, { ...old, of: limited });
    await deliver(1, { ...old, state: 'retrying', due: '1 hour', nextAttempt: '1 hour' });
    await deliver(1, { ...old, state: 'pending', due: '10 seconds', nextAttempt: '15 seconds' });
    const backlog = await readBacklog(ledger);
    expect(backlog).to.include({
      waiting: 0,
      waitingSeconds: null,
      retries: 0,
      retrySeconds: null,
      later: 3,
      paused: 2,
    });
    expect(backlog.tenants).to.deep.equal([]);
    expect(overdueIn(backlog, 60)).to.deep.equal([]);
  });

  it('counts a retry from when it was due', async () => {
    const retry = { state: 'retrying', createtime: '-1 hour' } as const;
    await deliver(1, { ...retry, due: '0', nextAttempt: '-20 seconds' });
    await deliver(1, { ...retry, due: '0', nextAttempt: '-90 seconds' });
    const backlog = await readBacklog(ledger);
    expect(backlog).to.include({ retries: 2, waiting: 0 });
    expect(backlog.retrySeconds).to.be.within(89, 120);
    expect(overdueIn(backlog, 60).map(({ place, count }) => [place, count])).to.deep.equal([['retries', 2]]);
  });

  it('counts what was resumed or redriven from then on', async () => {
    await deliver(2, { state: 'paused', createtime: '-1 day', due: null });
    await inTransaction(db.database.pool, (tx) => resumeTenant(tx, tenant.tenantid, 0));
    await deliver(1, { state: 'failed', createtime: '-1 day', due: null });
    const { rows } = await db.database.pool.query<{ id: string }>(
      `select deliveryid::text as id from rowpost.delivery where state = 'failed'`,
    );
    await inTransaction(db.database.pool, (tx) => redriveDelivery(tx, tenant.tenantid, rows[0]!.id, 0));
    const backlog = await readBacklog(ledger);
    expect(backlog).to.include({ waiting: 3 });
    expect(backlog.waitingSeconds).to.be.within(0, 30);
  });

  it('leaves the batches of a tenant that has used up its rate limit out of the age, not out of the count', async () => {
    await writeEvents(db.database, tenant, 1);
    await pollOutbox(ledger, LIMITS);
    await db.database.pool.query(
      `insert into rowpost.email_pace (tenantid, next_slot) values ($1, now() + interval '5 minutes')`,
      [tenant.tenantid],
    );
    expect(await readBacklog(ledger)).to.include({ openBatches: 1, openBatchSeconds: null });
  });

  it('is read by indices, however many rows are kept', async () => {
    const { pool } = db.database;
    await pool.query(
      `insert into rowpost.outbox (tenantid, roleid, operation, target, key)
       select $1, 1, 'insert', 'customer', '{}' from generate_series(1, 20000)`,
      [tenant.tenantid],
    );
    await pollOutbox(ledger, { batchEvents: 1, pollEvents: 100_000 });
    await pool.query(
      `insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from rowpost.relay_batch`,
    );
    await pool.query(
      `insert into rowpost.relay_batch_mark (batchid) select max(batchid) from rowpost.relay_batch`,
    );
    await deliver(20_000, { state: 'sent', due: null });
    await pool.query(
      `insert into rowpost.delivery_sweep (previous, since, until)
       select max(sweepid), pg_current_snapshot(), pg_current_snapshot() from rowpost.delivery_sweep`,
    );
    await pool.query('analyze rowpost.outbox, rowpost.delivery, rowpost.relay_batch');
    const before = await rowsRead();
    await readBacklog(ledger);
    expect((await rowsRead()) - before, 'rows read').to.be.below(1_000);
  });

  /** Rows that all statements have read of the tables that grow, once their sessions have said so. */
  async function rowsRead(): Promise<number> {
    // At once on several connections, so that each open one says so: an idle one does only after seconds.
    const flush = fixed('select pg_stat_force_next_flush(), pg_sleep(0.1)');
    const sessions = Array.from({ length: 4 });
    await Promise.all(
      sessions.flatMap(() => [ledger.query({ text: flush }, []), db.database.pool.query(flush)]),
    );
    await db.database.pool.query('select pg_stat_clear_snapshot()');
    const { rows } = await db.database.pool.query<{ read: string }>(
      `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) as read from pg_stat_all_tables
       where schemaname = 'rowpost' and relname ~ '^(outbox|delivery|relay_batch)'`,
    );
    return Number(rows[0]!.read);
  }

  /** Deliveries as the ledger has them. Times are intervals from now. */
  async function deliver(
    count: number,
    options: {
      readonly state?: string;
      readonly createtime?: string;
      readonly due?: string | null;
      readonly nextAttempt?: string;
      readonly of?: TestTenant;
    },
  ): Promise<void> {
    const { state = 'pending', createtime = '0', due, nextAttempt = null, of = tenant } = options;
    const eventid = (nextEvent += count) - count;
    const tracked = due !== undefined;
    await db.database.pool.query(
      `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
         state, tracked, due, next_attempt)
       select $1, $2 + i, 1, 'welcome', 'insert', 'customer', '{}', 'at_least_once', now() + $3::interval, $4, $5,
         now() + $6::interval, now() + $7::interval
       from generate_series(1, $8::int) i`,
      [of.tenantid, eventid, createtime, state, tracked, due ?? null, nextAttempt, count],
    );
  }
});
