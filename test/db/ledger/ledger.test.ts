import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { loadBatch } from '../../../src/db/outbox/batches.js';
import type { DeliveryKey } from '../../../src/db/ledger/deliveryKey.js';
import { closeBatch, closePlainBatch } from '../../../src/db/ledger/closeBatch.js';
import { finishAttempts, type AttemptFinish } from '../../../src/db/ledger/finishAttempts.js';
import { extendLeases } from '../../../src/db/ledger/leases.js';
import { countRedeliveredStart, endLostAttempts } from '../../../src/db/ledger/lostAttempts.js';
import type { Ledger } from '../../../src/db/pool/ledgerPool.js';
import { loadDeliveries } from '../../../src/db/ledger/loadDeliveries.js';
import { dueDeliveries, markQueued } from '../../../src/db/ledger/dueDeliveries.js';
import { dropOldPartitions, makePartitions } from '../../../src/db/outbox/partitions.js';
import { pauseDeliveries, pauseTenant, resumeTenant } from '../../../src/db/ledger/pause.js';
import { redriveDelivery } from '../../../src/db/ledger/redrive.js';
import { startSending } from '../../../src/db/ledger/startSending.js';
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
import { knexOf } from '../../support/knexOf.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const LONG_MS = 60_000;
const LOST = { maxAttempts: 12, limit: 100, idempotentCarriers: ['resend'] };

describe('delivery: the ledger (contract 5.6)', () => {
  let db: TestDatabase;
  let ledger: Ledger;
  let tenant: TestTenant;

  before(async () => {
    db = await createTestDatabase();
    ledger = db.database.ledger;
  });
  after(async () => {
    await db.drop();
  });
  beforeEach(async () => {
    tenant = await createTenant(db.database);
  });

  const deliver = async (count = 1, delivery: 'at_least_once' | 'at_most_once' = 'at_least_once') => {
    const ruleid = await createRule(db.database, tenant, { delivery });
    await writeEvents(db.database, tenant, count);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    const batch = batches.find((each) => each.tenantid === tenant.tenantid)!;
    const { events } = (await loadBatch(ledger, batch))!;
    const { ready } = await closeBatch(
      ledger,
      batch,
      events.map(({ eventid }) => ({ eventid, ruleid })),
      NO_LIMITS,
    );
    const keys = ready.map(({ tenantid, deliveryid, createtime }) => ({ tenantid, deliveryid, createtime }));
    return { keys, key: keys[0]!, ready, batch, events, ruleid };
  };
  const start = async (
    key: DeliveryKey,
    starts: number,
    leaseMs = LONG_MS,
    startId: string = randomUUID(),
  ) => {
    const [loaded] = await loadDeliveries(ledger, [key]);
    const wanted = {
      ...key,
      starts,
      tracked: loaded!.tracked,
      recipients: ['a@b.org'],
      subject: 's',
      carrier: 'sendgrid',
      email: null,
      startId,
    };
    return (await startSending(ledger, [wanted], leaseMs))[0];
  };
  const finishOf = (key: DeliveryKey, rest: Partial<AttemptFinish>): AttemptFinish => ({
    ...key,
    sending: true,
    starts: 1,
    outcome: 'sent',
    httpStatus: 202,
    state: 'sent',
    counted: true,
    providerMessageId: 'm',
    errorCode: null,
    error: null,
    nextAttemptMs: null,
    ...rest,
  });
  const finish = async (key: DeliveryKey, rest: Partial<AttemptFinish>) =>
    (await finishAttempts(ledger, [finishOf(key, rest)]))[0];
  const read = async (key: DeliveryKey) =>
    (await knexOf(db.database)('rowpost.email_delivery')
      .where({ deliveryid: key.deliveryid })
      .first()) as Record<string, unknown>;
  const attempts = async (key: DeliveryKey) =>
    (await knexOf(db.database)('rowpost.email_attempt')
      .where({ deliveryid: key.deliveryid })
      .orderBy('attempt')) as Record<string, unknown>[];
  const expireLease = async (key: DeliveryKey) => {
    await trackDeliveries(ledger, [key]);
    await knexOf(db.database)('rowpost.delivery')
      .where({ deliveryid: key.deliveryid })
      .update({ due: knexOf(db.database).raw(`now() - interval '1 second'`) });
  };

  it('records each event and rule once, whichever worker evaluates the batch and whatever fails', async () => {
    const { keys, batch, events, ruleid } = await deliver(3);
    expect(keys).to.have.length(3);
    const { ready: again } = await closeBatch(
      ledger,
      batch,
      events.map(({ eventid }) => ({ eventid, ruleid })),
      NO_LIMITS,
    );
    expect(again).to.deep.equal([]);
    expect((await loadBatch(ledger, batch))!.done).to.equal(true);
  });

  it('counts firings and gives out slots once, however many workers have the batch', async () => {
    const limits = { firesPerMinute: 100, emailsPerSecond: 10 };
    const ruleid = await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 3);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    const batch = batches.find((each) => each.tenantid === tenant.tenantid)!;
    const { events } = (await loadBatch(ledger, batch))!;
    const matches = events.map(({ eventid }) => ({ eventid, ruleid }));
    const accounts = async (): Promise<unknown> => {
      const { rows } = await db.database.pool.query(
        `select (select sum(fired)::int from rowpost.rule_firing where ruleid = $2) as fired,
           (select next_slot from rowpost.email_pace where tenantid = $1)`,
        [tenant.tenantid, ruleid],
      );
      return rows[0];
    };
    await closeBatch(ledger, batch, matches, limits);
    const once = await accounts();
    expect(once).to.include({ fired: 3 });
    await closeBatch(ledger, batch, matches, limits);
    expect(await accounts()).to.deep.equal(once);
  });

  it('records a rule that can’t be evaluated as failed, with its reason', async () => {
    const ruleid = await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 1);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    const batch = batches.find((each) => each.tenantid === tenant.tenantid)!;
    const { eventid } = (await loadBatch(ledger, batch))!.events[0]!;
    const failure = { code: 'CONDITION_FAILED', message: 'column gone' };
    const { ready } = await closeBatch(ledger, batch, [{ eventid, ruleid, failure }], NO_LIMITS);
    expect(ready).to.deep.equal([]);
    const row: unknown = await knexOf(db.database)('rowpost.email_delivery').where({ ruleid }).first();
    expect(row).to.include({
      state: 'failed',
      error_code: 'CONDITION_FAILED',
      error: 'column gone',
      due: null,
    });
  });

  it('loads a delivery with what sending it needs', async () => {
    const { key, events } = await deliver();
    const [loaded, missing] = await loadDeliveries(ledger, [key, { ...key, deliveryid: '999999' }]);
    expect(missing).to.equal(undefined);
    expect(loaded).to.deep.include({
      tenantid: tenant.tenantid,
      state: 'pending',
      starts: 0,
      policy: 'at_least_once',
      emailType: 'welcome',
      queryRoleid: tenant.roleid,
      isTooLarge: false,
      eventid: events[0]!.eventid,
      new: '{"id" : 1}',
      old: null,
    });
    expect(loaded!.accounts).to.include({ version: 1, pausedCode: null, waitUntilMs: null });
  });

  it('lets one of many workers send', async () => {
    const { key } = await deliver();
    const won = await Promise.all(Array.from({ length: 8 }, () => start(key, 0)));
    expect(won.filter(Boolean)).to.have.length(1);
    expect(await read(key)).to.deep.include({
      state: 'sending',
      starts: 1,
      recipients: ['a@b.org'],
      subject: 's',
    });
  });

  it('lets that worker ask again, and no other, for as long as the attempt is its own', async () => {
    for (const starts of [0, 1]) {
      const { key } = await deliver();
      const [mine, other] = [randomUUID(), randomUUID()];
      if (starts === 1) {
        await start(key, 0);
        await finish(key, { state: 'retrying', outcome: 'retry', nextAttemptMs: 0 });
      }
      expect(await start(key, starts, LONG_MS, mine)).to.equal(true);
      expect(await start(key, starts, LONG_MS, other), 'another one').to.equal(false);
      expect(await start(key, starts, LONG_MS, mine), 'again').to.equal(true);
      await trackDeliveries(ledger, [key]);
      expect(await start(key, starts, LONG_MS, mine), 'tracked meanwhile').to.equal(true);
      expect(await read(key)).to.include({ state: 'sending', starts: starts + 1 });
      await expireLease(key);
      await endLostAttempts(ledger, LOST);
      expect(await start(key, starts, LONG_MS, mine), 'given up meanwhile').to.equal(false);
    }
  });

  it('records the end of an attempt once, under its number', async () => {
    const { key } = await deliver();
    await start(key, 0);
    expect(await finish(key, { starts: 0 }), 'another number').to.equal(false);
    expect(await finish(key, {})).to.equal(true);
    expect(await finish(key, { state: 'failed', outcome: 'failed' }), 'a second end').to.equal(false);
    expect(await read(key)).to.include({ state: 'sent', attempts: 1, provider_message_id: 'm', due: null });
    expect(await attempts(key)).to.have.length(1);
    expect((await attempts(key))[0]).to.include({ attempt: 1, outcome: 'sent', http_status: 202 });
    expect(await start(key, 1), 'a terminal state').to.equal(false);
  });

  it('goes on for each tenant but the one that is handed over', async () => {
    const gone = await createTenant(db.database);
    await db.database.pool.query(`update rowpost.tenant set moved_to = 'there' where tenantid = $1`, [
      gone.tenantid,
    ]);
    const { key } = await deliver();
    expect(await start(key, 0)).to.equal(true);
    expect(await finish(key, { state: 'retrying', outcome: 'retry', nextAttemptMs: 0 })).to.equal(true);
    expect(await start(key, 1), 'a tracked one').to.equal(true);
    expect(await finish(key, { starts: 2 })).to.equal(true);

    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 1);
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    expect((await closePlainBatch(ledger, batches[0]!, NO_LIMITS))?.ready).not.to.be.empty;
  });

  it('one row that PostgreSQL can’t take is refused', async () => {
    const { key } = await deliver();
    await start(key, 0);
    const refused = await finish(key, { providerMessageId: 'a\u0000b' }).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error);
  });

  describe('a worker that is lost while sending', () => {
    it('at least once: the attempt is ambiguous, and the next one may begin', async () => {
      const { key } = await deliver();
      await start(key, 0);
      expect(await endLostAttempts(ledger, LOST)).to.equal(0);
      await expireLease(key);
      expect(await endLostAttempts(ledger, LOST)).to.equal(1);
      expect(await read(key)).to.include({ state: 'retrying', attempts: 1, error_code: 'WORKER_LOST' });
      expect((await attempts(key))[0]).to.include({ attempt: 1, outcome: 'ambiguous' });
      expect(await start(key, 0), 'the stale worker').to.equal(false);
      expect(await start(key, 1)).to.equal(true);
    });

    it('at most once: the delivery ends as unknown', async () => {
      const { key } = await deliver(1, 'at_most_once');
      await start(key, 0);
      await expireLease(key);
      await endLostAttempts(ledger, LOST);
      expect(await read(key)).to.include({ state: 'unknown', error_code: 'OUTCOME_UNKNOWN', due: null });
      expect(await finish(key, {}), 'a terminal state does not change').to.equal(false);
    });

    it('that was only slow, and knows it has sent: no second email', async () => {
      const { key } = await deliver();
      await start(key, 0);
      await expireLease(key);
      await endLostAttempts(ledger, LOST);
      expect(await finish(key, { state: 'retrying', outcome: 'retry' }), 'any other end').to.equal(false);
      expect(await finish(key, {})).to.equal(true);
      expect(await read(key)).to.include({ state: 'sent' });
      expect((await attempts(key)).map((row) => row['outcome'])).to.deep.equal(['sent']);
    });

    it('whose lease is renewed keeps it', async () => {
      const { key } = await deliver();
      await start(key, 0);
      await expireLease(key);
      const held = await extendLeases(
        ledger,
        [
          { ...key, starts: 1, sending: true },
          { ...key, starts: 2, sending: true },
        ],
        LONG_MS,
      );
      expect(held).to.deep.equal([true, false]);
      expect(await endLostAttempts(ledger, LOST)).to.equal(0);
    });

    it('renews no lease: not that of an attempt before or after it, nor one of its own that is over', async () => {
      const { key } = await deliver();
      await start(key, 0);
      await trackDeliveries(ledger, [key]);
      const renew = async (starts: number) =>
        (await extendLeases(ledger, [{ ...key, starts, sending: true }], LONG_MS))[0];
      expect(await renew(2)).to.equal(false);
      await finish(key, { outcome: 'retry', state: 'retrying', httpStatus: 503, nextAttemptMs: 60_000 });
      const ended = await read(key);
      expect(await renew(1)).to.equal(false);
      expect(await read(key)).to.deep.equal(ended);
    });

    it('again and again: the delivery is poison', async () => {
      const { key } = await deliver();
      for (let starts = 0; starts < 5; starts++) {
        expect(await start(key, starts), `start ${starts}`).to.equal(true);
        await expireLease(key);
        await endLostAttempts(ledger, LOST);
      }
      expect(await read(key)).to.include({ state: 'failed', error_code: 'POISON' });
      expect(await attempts(key)).to.have.length(5);
    });

    it('again and again before anything was sent: poison as well, and nothing is ambiguous', async () => {
      const { key } = await deliver(1, 'at_most_once');
      const alive = [];
      for (let i = 0; i < 5; i++) alive.push(await countRedeliveredStart(ledger, { ...key, starts: 0 }));
      expect(alive).to.deep.equal([true, true, true, true, false]);
      expect(await read(key)).to.include({ state: 'failed', error_code: 'POISON' });
      expect(await attempts(key)).to.deep.equal([]);
    });
  });

  it('loads what it records, if it is little', async () => {
    await knexOf(db.database)('rowpost.email_suppression').insert({
      tenantid: tenant.tenantid,
      address: 'gone@example.com',
      source: 'manual',
    });
    const { ready, keys, events } = await deliver(3);
    const loaded = await loadDeliveries(ledger, keys);
    const { eventid } = events[0]!;
    expect(loaded[0]).to.include({ hasSuppressions: true, eventid, state: 'pending' });
    for (const [index, delivery] of loaded.entries()) {
      expect(ready[index]?.loaded).to.deep.include(delivery);
    }
    const many = await deliver(9);
    expect(many.ready).to.have.length(9);
    expect(many.ready.filter((delivery) => delivery.loaded)).to.deep.equal([]);
  });

  describe('a batch whose rules have no conditions', () => {
    const writeBatch = async (count: number) => {
      await writeEvents(db.database, tenant, count);
      const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
      const batch = batches.find((each) => each.tenantid === tenant.tenantid)!;
      const { events } = (await loadBatch(ledger, batch))!;
      return { eventids: events.map((event) => event.eventid), batch };
    };
    const recorded = async () =>
      (await knexOf(db.database)('rowpost.delivery')
        .select('eventid', 'ruleid')
        .where({ tenantid: tenant.tenantid })
        .orderBy('deliveryid')) as { eventid: string; ruleid: string }[];

    it('is matched and recorded at once: the enabled rules that each event concerns, in the events’ order', async () => {
      const rules = [
        await createRule(db.database, tenant, { emailType: 'one' }),
        await createRule(db.database, tenant, { emailType: 'two' }),
      ];
      const disabled = await createRule(db.database, tenant, { emailType: 'disabled' });
      await knexOf(db.database)('rowpost.email_rule').where({ ruleid: disabled }).update({ enabled: false });
      await createRule(db.database, tenant, { emailType: 'elsewhere', targets: ['elsewhere'] });
      await createRule(db.database, tenant, { emailType: 'deleted', operations: ['delete'] });
      const { eventids, batch } = await writeBatch(3);
      const closed = await closePlainBatch(ledger, batch, NO_LIMITS);
      expect(closed?.ready).to.have.length(6);
      expect(await recorded()).to.deep.equal(
        eventids.flatMap((eventid) => rules.map((ruleid) => ({ eventid, ruleid }))),
      );
      expect((await loadBatch(ledger, batch))?.done).to.equal(true);
      const loaded = await loadDeliveries(ledger, closed?.ready ?? []);
      for (const [index, delivery] of loaded.entries()) {
        expect(closed?.ready[index]?.loaded).to.deep.include(delivery);
      }
    });

    it('is closed by one of many workers', async () => {
      await createRule(db.database, tenant);
      const { eventids, batch } = await writeBatch(2);
      const closed = await Promise.all(
        Array.from({ length: 6 }, () => closePlainBatch(ledger, batch, NO_LIMITS)),
      );
      expect(closed.filter((each) => each !== undefined)).to.have.length(1);
      expect(await recorded()).to.have.length(eventids.length);
    });

    it('does not affect rules with a condition', async () => {
      await createRule(db.database, tenant, { emailType: 'plain' });
      await createRule(db.database, tenant, { emailType: 'choosy', condition: 'new.id > 1' });
      const { batch } = await writeBatch(2);
      expect(await closePlainBatch(ledger, batch, NO_LIMITS)).to.equal(undefined);
      expect(await recorded()).to.deep.equal([]);
      expect((await loadBatch(ledger, batch))?.done).to.equal(false);
    });

    it('may have conditions in rules that it does not concern, or that are disabled', async () => {
      await createRule(db.database, tenant, { emailType: 'plain' });
      await createRule(db.database, tenant, {
        emailType: 'a',
        targets: ['elsewhere'],
        condition: 'new.id > 1',
      });
      const disabled = await createRule(db.database, tenant, { emailType: 'b', condition: 'new.id > 1' });
      await knexOf(db.database)('rowpost.email_rule').where({ ruleid: disabled }).update({ enabled: false });
      const { batch } = await writeBatch(1);
      expect((await closePlainBatch(ledger, batch, NO_LIMITS))?.ready).to.have.length(1);
    });

    it('of a tenant whose schema is gone records nothing', async () => {
      await createRule(db.database, tenant);
      const { batch } = await writeBatch(1);
      await knexOf(db.database)('rowpost.tenant')
        .where({ tenantid: tenant.tenantid })
        .update({ schema: null });
      expect(await closePlainBatch(ledger, batch, NO_LIMITS)).to.equal(undefined);
      expect(await recorded()).to.deep.equal([]);
    });

    it('of a tenant whose rules are gone records nothing', async () => {
      const ruleid = await createRule(db.database, tenant);
      const { batch } = await writeBatch(1);
      await knexOf(db.database)('rowpost.email_rule').where({ ruleid }).delete();
      expect(await closePlainBatch(ledger, batch, NO_LIMITS)).to.equal(undefined);
      expect((await loadBatch(ledger, batch))?.done).to.equal(true);
      expect(await recorded()).to.deep.equal([]);
    });
  });

  it('reads, starts and finishes deliveries of several days together', async () => {
    await createRule(db.database, tenant);
    await writeEvents(db.database, tenant, 3);
    await knexOf(db.database).raw(
      `update rowpost.outbox set time = time + (eventid % 3) * interval '1 day' where tenantid = ?`,
      [tenant.tenantid],
    );
    const { batches } = await pollOutbox(ledger, { batchEvents: 100, pollEvents: 1000 });
    const closed = await closePlainBatch(ledger, batches[0]!, NO_LIMITS);
    const keys = closed!.ready.map(({ tenantid, deliveryid, createtime }) => ({
      tenantid,
      deliveryid,
      createtime,
    }));
    expect(new Set(keys.map(({ createtime }) => createtime.slice(0, 10)))).to.have.property('size', 3);
    const loaded = await loadDeliveries(ledger, keys);
    expect(loaded.map((delivery) => delivery?.eventid)).to.not.include(null);
    const wanted = keys.map((key) => ({
      ...key,
      starts: 0,
      tracked: false,
      recipients: ['a@b.org'],
      subject: 's',
      carrier: 'sendgrid',
      email: null,
    }));
    expect(await startSending(ledger, wanted, LONG_MS)).to.deep.equal([true, true, true]);
    expect(await startSending(ledger, wanted, LONG_MS), 'again').to.deep.equal([false, false, false]);
    const sent = keys.map((key) => finishOf(key, {}));
    expect(await finishAttempts(ledger, sent)).to.deep.equal([true, true, true]);
    for (const key of keys) expect(await read(key)).to.include({ state: 'sent', attempts: 1 });
  });

  it('finds deliveries whose time has come, each once in a while', async () => {
    const { keys } = await deliver(3);
    await markQueued(ledger, await dueDeliveries(ledger, 1000), 10);
    await expireLease(keys[0]!);
    await start(keys[1]!, 0);
    await expireLease(keys[1]!);
    const due = await dueDeliveries(ledger, 1000);
    expect(due).to.deep.equal([{ ...keys[0]!, starts: 0, delayMs: 0 }]);
    expect(await dueDeliveries(ledger, 1000), 'nobody has said that it is queued').to.deep.equal(due);
    expect(await markQueued(ledger, due, 10)).to.equal(1);
    expect(await dueDeliveries(ledger, 1000)).to.deep.equal([]);
  });

  it('notes none of the due deliveries that another session holds', async () => {
    const { keys } = await deliver(1);
    await expireLease(keys[0]!);
    const due = await dueDeliveries(ledger, 1000);
    const other = await db.database.pool.connect();
    await other.query('begin');
    await other.query('select from rowpost.delivery for update');
    expect(await markQueued(ledger, due, 10)).to.equal(0);
    await other.query('rollback');
    other.release();
    expect(await markQueued(ledger, due, 10)).to.equal(1);
  });

  it('noting that a delivery is queued leaves the lease of the worker that has begun with it', async () => {
    const { keys } = await deliver(1);
    await expireLease(keys[0]!);
    const due = await dueDeliveries(ledger, 1000);
    await start(keys[0]!, 0);
    const before = await read(keys[0]!);
    await markQueued(ledger, due, 10);
    expect(await read(keys[0]!)).to.deep.equal(before);
  });

  it('noting that a delivery is queued leaves the lease of the worker that waits to begin with it', async () => {
    const { key } = await deliver();
    await expireLease(key);
    const due = await dueDeliveries(ledger, 1000);
    await extendLeases(ledger, [{ ...key, starts: 0, sending: false }], LONG_MS);
    const held = await read(key);
    expect(await markQueued(ledger, due, 10)).to.equal(0);
    expect(await read(key)).to.deep.equal(held);
  });

  it('holds a delivery for a worker only until an attempt has begun', async () => {
    const { key } = await deliver();
    await start(key, 0, 1_000);
    await trackDeliveries(ledger, [key]);
    const sending = await read(key);
    for (const starts of [0, 1]) {
      await extendLeases(ledger, [{ ...key, starts, sending: false }], LONG_MS);
      expect(await read(key), `as attempt ${starts + 1}`).to.deep.equal(sending);
    }
  });

  describe('a paused tenant', () => {
    it('parks its deliveries without using up an attempt, until it is resumed', async () => {
      const { keys } = await deliver(2);
      const [sending, waiting] = [keys[0]!, keys[1]!];
      await start(sending, 0);
      await pauseTenant(ledger, tenant.tenantid, 1, 'APIKEY_REFUSED', 'the key is refused');
      await pauseDeliveries(ledger, [
        { ...sending, starts: 1, sending: true, httpStatus: 401 },
        { ...waiting, starts: 0, sending: false, httpStatus: null },
      ]);
      for (const key of keys) {
        expect(await read(key)).to.include({
          state: 'paused',
          attempts: 0,
          error_code: 'APIKEY_REFUSED',
          due: null,
        });
      }
      expect((await attempts(sending)).map((row) => row['outcome'])).to.deep.equal(['paused']);
      expect(await attempts(waiting)).to.deep.equal([]);
      await inTransaction(db.database.pool, (tx) => resumeTenant(tx, tenant.tenantid, 0));
      expect(await read(waiting)).to.include({ state: 'pending' });
      expect(await read(sending)).to.include({ state: 'pending', error_code: null });
      const [loaded] = await loadDeliveries(ledger, [sending]);
      expect(loaded!.accounts!.pausedCode).to.equal(null);
      expect(await start(sending, 1)).to.equal(true);
    });

    it('is not paused by a response about an older key', async () => {
      const { key } = await deliver();
      await start(key, 0);
      await pauseTenant(ledger, tenant.tenantid, 0, 'APIKEY_REFUSED', 'old');
      await pauseDeliveries(ledger, [{ ...key, starts: 1, sending: true, httpStatus: 401 }]);
      expect(await read(key)).to.include({ state: 'pending' });
    });
  });

  describe('redrive', () => {
    it('sends an ended delivery again, and is recorded', async () => {
      const { key } = await deliver();
      await start(key, 0);
      await finish(key, { state: 'failed', outcome: 'rejected', errorCode: 'CARRIER_400', error: 'bad' });
      await inTransaction(db.database.pool, (tx) => redriveDelivery(tx, tenant.tenantid, key.deliveryid, 0));
      expect(await read(key)).to.include({ state: 'pending', attempts: 0, starts: 2, error_code: null });
      expect(await start(key, 2)).to.equal(true);
      await finish(key, { starts: 3 });
      expect((await attempts(key)).map((row) => [row['attempt'], row['outcome']])).to.deep.equal([
        [1, 'rejected'],
        [2, 'redriven'],
        [3, 'sent'],
      ]);
    });

    it('is refused while a delivery is open, and for another tenant’s', async () => {
      const { key } = await deliver();
      const other = await createTenant(db.database);
      for (const [tenantid, code] of [
        [tenant.tenantid, 'REDRIVE_NOT_ALLOWED'],
        [other.tenantid, 'NOT_FOUND'],
      ] as const) {
        const error = await inTransaction(db.database.pool, (tx) =>
          redriveDelivery(tx, tenantid, key.deliveryid, 0),
        ).catch((e: unknown) => e);
        expect(error).to.include({ code });
      }
    });
  });

  it('makes partitions ahead, and drops those past retention, rows and all', async () => {
    const day = 24 * 3600 * 1000;
    const { key } = await deliver();
    const made = await makePartitions(ledger, Date.now() + 20 * day, 2);
    expect(await makePartitions(ledger, Date.now() + 20 * day, 2), 'a second time').to.deep.equal([]);
    const dropped = await dropOldPartitions(ledger, Date.now() + 60 * day, {
      retentionDays: 30,
      keepEmailDays: 7,
    });
    expect(dropped).to.have.members(made);
    // Today's rows were in the default partitions.
    expect(await read(key)).to.equal(undefined);
  });
});
