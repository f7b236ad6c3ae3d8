import { expect } from 'chai';
import type pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { createRelayWaker, listenForWakeups } from '../../src/db/pool/wakeup.js';
import { openQueue } from '../../src/queue/openQueue.js';
import { pipelineConfig } from '../delivery/pipelineSetup.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

const CHANNELS = ['rowpost_relay', 'bullmq_jobs', 'bullmq_events'];

/** A million notifications a second keep every process that listens busy. */
describe("attack: a tenant's code notifies the channels of the service", () => {
  let shop: Shop;
  let hostile: pg.Client;
  before(async () => {
    shop = await openShop('create table notes (id int primary key)');
    hostile = await shop.test.database.tenants.connectDirectly(shop.tenant.tenantid);
  });
  after(async () => {
    await hostile.end();
    await shop.close();
  });

  const flood = async (): Promise<void> => {
    for (const channel of CHANNELS)
      await hostile.query(`select count(pg_notify('${channel}', i::text)) from generate_series(1, 1000) i`);
  };

  it('which reaches neither the relay nor the workers', async () => {
    const { database } = shop.test;
    let wakeups = 0;
    const listening = listenForWakeups({ database, log: testLog }, () => (wakeups += 1));
    await waitFor('the listener', () => wakeups === 1);
    const worker = database.createClient();
    const seen: string[] = [];
    worker.on('notification', ({ channel }) => seen.push(channel));
    await worker.connect();
    for (const channel of CHANNELS) await worker.query('select rowpost.listen_to($1)', [channel]);
    await flood();
    await delay(200);
    expect([wakeups, seen]).to.deep.equal([1, []]);
    const waker = createRelayWaker({ database, log: testLog });
    waker.wake();
    await waitFor('a wake-up', () => wakeups === 2 && seen.length === 1);
    await waker.stop();
    await listening.stop();
    await worker.end();
  });

  it('whose names it can not learn', async () => {
    for (const sql of [
      'select suffix from rowpost.channel_suffix',
      `select rowpost.hidden_channel('rowpost_relay')`,
      `select rowpost.listen_to('rowpost_relay')`,
      `select rowpost.notify('rowpost_relay', '')`,
    ]) {
      const error = await hostile.query(sql).catch((caught: unknown) => caught);
      expect(error, sql).to.have.property('code', '42501');
    }
    const { rows } = await hostile.query(
      `select query from pg_stat_activity where query ~* 'listen|notify' and pid <> pg_backend_pid()`,
    );
    expect(rows).to.deep.equal([]);
  });

  it('and the queue goes on at once', async () => {
    const queue = await openQueue(await pipelineConfig('postgres'), shop.test.database, testLog);
    const taken: string[] = [];
    const worker = queue.work(
      {
        onBatch: () => Promise.resolve(),
        onDelivery: ({ deliveryid }) => Promise.resolve(void taken.push(deliveryid)),
      },
      { batches: 2, deliveries: 4, leaseMs: 30_000, graceMs: 300 },
    );
    try {
      // BullMQ looks by itself every five seconds: four jobs one after the other would take twenty.
      const startedAt = performance.now();
      for (let deliveryid = 1; deliveryid <= 4; deliveryid++) {
        await delay(300);
        await flood();
        await queue.addDeliveries([
          {
            tenantid: 1,
            deliveryid: String(deliveryid),
            createtime: '2026-01-01 00:00:00+00',
            starts: 0,
            delayMs: 0,
            ahead: 0,
          },
        ]);
        await waitFor('the job', () => taken.length === deliveryid);
      }
      expect(performance.now() - startedAt).to.be.below(15_000);
    } finally {
      await worker.stop();
      await queue.close();
    }
  });
});
