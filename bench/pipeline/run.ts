// The pipeline: the relay alone against bare addBulk, and draining a backlog against a bare BullMQ worker that only sends.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import sendgrid from '@sendgrid/mail';
import { Queue as BullQueue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { systemClock } from '../../src/clock.js';
import { openDatabase, type Database } from '../../src/db/database.js';
import { openLedger } from '../../src/db/delivery/ledger.js';
import { makePartitions } from '../../src/db/delivery/partitions.js';
import { tick } from '../../src/db/delivery/tick.js';
import { createRelayWaker } from '../../src/db/wakeup.js';
import { migrate } from '../../src/db/migrate.js';
import { PrincipalSource } from '../../src/db/principal.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { migrateQueue, openQueue } from '../../src/queue/queue.js';
import { startRelay } from '../../src/relay/relay.js';
import { createTemplatePool } from '../../src/templates/index.js';
import { startWorker } from '../../src/worker/worker.js';
import {
  createRule,
  createTenant,
  keyRing,
  noEngine,
  writeEvents,
} from '../../test/delivery/pipelineSetup.js';
import { startRedis } from '../../test/support/redisServer.js';
import { testConfig, testLog } from '../../test/support/testConfig.js';
import { endRun } from '../../test/support/teardown.js';
import { startChildServer } from '../support/childServer.js';
import { describeMachine } from '../support/report.js';

const EVENTS = Number(process.argv[2] ?? 20_000);
const BATCH = 500;
const CONCURRENCY = process.argv[3] ?? '32';
const TEMPLATE = `<h1>Order {{ records.new.id }}</h1>
{% for i in range(20) %}<p>{{ loop.index }}. {{ records.new.name|upper }} at {{ base_url }}</p>{% endfor %}`;

const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-bench-'));
const postgres = await startEmbeddedPostgres({ dataDir: folder, say: () => undefined });
const redis = await startRedis();
const provider = await startChildServer(new URL('providerServer.ts', import.meta.url), []);
const baseConfig = testConfig({ DATABASE_URL: postgres.url });
const database: Database = openDatabase({
  url: postgres.url,
  poolSize: 16,
  statementTimeoutMs: 15_000,
  lockTimeoutMs: 5_000,
  connectTimeoutMs: 5_000,
  applicationName: 'bench',
  log: testLog,
});
await migrate(database.knex);
await migrateQueue(baseConfig, database);
const ledger = openLedger(database, () => undefined);
await makePartitions(ledger, Date.now(), 7);

const note = (name: string, count: number, seconds: number): void => {
  console.log(`${name}: ${(count / seconds).toFixed(0)}/s`);
};
const noteCpu = (since: NodeJS.CpuUsage, count: number): void => {
  const used = process.cpuUsage(since);
  console.log(`  CPU of this process: ${((used.user + used.system) / 1e3 / count).toFixed(3)} ms each`);
};
const seconds = async (work: () => Promise<void>): Promise<number> => {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
};
const askProvider = async () =>
  (await (await fetch(provider.url)).json()) as { accepted: number; ages: number[] };
const accepted = async (): Promise<number> => (await askProvider()).accepted;

async function measureRelay(): Promise<void> {
  const config = testConfig({ DATABASE_URL: postgres.url, REDIS_URL: `${redis.url}/1` });
  const tenants = [];
  for (let i = 0; i < 20; i++) {
    const tenant = await createTenant(database);
    await createRule(database, tenant);
    tenants.push(tenant);
  }
  for (let i = 0; i < 10; i++)
    for (const tenant of tenants) await writeEvents(database, tenant, EVENTS / 200);
  const queue = await openQueue(config, database, testLog);
  note(
    'relay: tick + publish, events',
    EVENTS,
    await seconds(async () => {
      for (let more = true; more;) {
        const result = await tick(ledger, { batchEvents: BATCH, tickEvents: BATCH * 20 });
        await queue.addBatches(result.batches.map((batch) => ({ ...batch, ahead: 0 })));
        more = result.more;
      }
    }),
  );
  await queue.close();
  await database.pool.query(
    'insert into rowpost.relay_batch_done (batchid, createtime) select batchid, createtime from rowpost.relay_batch',
  );
  const connection = new Redis(`${redis.url}/2`, { maxRetriesPerRequest: null });
  const bare = new BullQueue('bare', { connection });
  note(
    'bare addBulk, jobs',
    EVENTS,
    await seconds(async () => {
      for (let i = 0; i < EVENTS; i += 1000) {
        await bare.addBulk(Array.from({ length: 1000 }, (_, j) => ({ name: 'j', data: { id: i + j } })));
      }
    }),
  );
  await bare.close();
  connection.disconnect();
}

async function measureBareWorker(): Promise<void> {
  const connection = new Redis(`${redis.url}/3`, { maxRetriesPerRequest: null });
  const queue = new BullQueue<{ id: number }>('send', { connection });
  for (let i = 0; i < EVENTS; i += 1000) {
    await queue.addBulk(
      Array.from({ length: 1000 }, (_, j) => ({
        name: 'j',
        data: { id: i + j },
        opts: { removeOnComplete: true },
      })),
    );
  }
  const { MailService } = sendgrid as unknown as {
    MailService: new () => typeof sendgrid & {
      client: { setDefaultRequest(name: string, value: string): void };
    };
  };
  const service = new MailService();
  service.setApiKey('SG.bench');
  service.client.setDefaultRequest('baseUrl', provider.url);
  const cpu = process.cpuUsage();
  const elapsed = await seconds(
    () =>
      new Promise<void>((resolve) => {
        let done = 0;
        const worker = new Worker<{ id: number }>(
          'send',
          async (job) => {
            await service.send({
              from: 'shop@example.com',
              to: 'ada@example.com',
              subject: `Order ${job.data.id}`,
              html: '<h1>Order</h1>',
            });
          },
          { connection, concurrency: Number(CONCURRENCY) },
        );
        worker.on('completed', () => {
          if (++done === EVENTS) void worker.close().then(resolve);
        });
      }),
  );
  note('bare BullMQ worker that only sends (Redis), mails', EVENTS, elapsed);
  noteCpu(cpu, EVENTS);
  await queue.close();
  connection.disconnect();
}

async function measureDrain(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const config = testConfig({
    DATABASE_URL: postgres.url,
    MAIL_TRANSPORT: 'sendgrid',
    SENDGRID_BASE_URL: provider.url,
    WORKER_CONCURRENCY: CONCURRENCY,
    ...env,
  });
  const tenant = await createTenant(database);
  await createRule(database, tenant, { template: TEMPLATE, subject: 'Order {{ records.new.id }}' });
  for (let i = 0; i < 10; i++) {
    await writeEvents(database, tenant, EVENTS / 10, {
      new: { id: i, name: 'Ada Lovelace', note: 'x'.repeat(200) },
    });
  }
  const templates = createTemplatePool({ threads: 1 });
  const queue = await openQueue(config, database, testLog);
  const deps = { database, config, log: testLog, clock: systemClock, queue };
  const before = await accepted();
  const worker = await startWorker({
    ...deps,
    keyRing,
    principals: new PrincipalSource(database.knex),
    engine: noEngine,
    templates,
  });
  const cpu = process.cpuUsage();
  const elapsed = await seconds(async () => {
    const relay = await startRelay(deps);
    while ((await accepted()) - before < EVENTS) await new Promise((resolve) => setTimeout(resolve, 50));
    await relay.stop();
  });
  note(`drain, ${name}, mails`, EVENTS, elapsed);
  noteCpu(cpu, EVENTS);
  await worker.stop();
  await queue.close();
  await templates.close();
  const { rows: states } = await database.pool.query(
    'select state, count(*)::int from rowpost.email_delivery where tenantid = $1 group by 1',
    [tenant.tenantid],
  );
  console.log(' ', JSON.stringify(states));
}

/** From commit to the provider at a steady rate, by way of the wake-up. */
async function measureLatency(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const config = testConfig({
    DATABASE_URL: postgres.url,
    MAIL_TRANSPORT: 'sendgrid',
    SENDGRID_BASE_URL: provider.url,
    ...env,
  });
  const tenant = await createTenant(database);
  await createRule(database, tenant, { template: TEMPLATE, subject: 'at {{ records.new.at }}' });
  const templates = createTemplatePool({ threads: 1 });
  const queue = await openQueue(config, database, testLog);
  const waker = createRelayWaker({ database, log: testLog });
  const deps = { database, config, log: testLog, clock: systemClock, queue };
  const principals = new PrincipalSource(database.knex);
  const worker = await startWorker({ ...deps, keyRing, principals, engine: noEngine, templates });
  const relay = await startRelay(deps);
  for (const perSecond of [10, 200]) {
    await askProvider();
    const mails = perSecond * 4;
    for (let i = 0; i < mails; i++) {
      const due = new Promise((resolve) => setTimeout(resolve, 1000 / perSecond));
      await writeEvents(database, tenant, 1, { new: { id: i, at: Date.now(), name: 'Ada' } });
      waker.wake();
      await due;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const ages = (await askProvider()).ages.sort((a, b) => a - b);
    const at = (share: number): number => ages[Math.floor(ages.length * share)] ?? NaN;
    console.log(
      `latency, ${name}, ${perSecond}/s: ${ages.length} of ${mails}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`,
    );
  }
  await relay.stop();
  await worker.stop();
  await waker.stop();
  await queue.close();
  await templates.close();
}

console.log(describeMachine());
await measureRelay();
await measureBareWorker();
await measureDrain('Redis', { REDIS_URL: `${redis.url}/4` });
await measureDrain('PostgreSQL', {});
await measureLatency('Redis', { REDIS_URL: `${redis.url}/5` });
await measureLatency('PostgreSQL', {});
await ledger.close();
await database.close();
await provider.stop();
await redis.stop();
await postgres.stop();
await endRun();
await rm(folder, { recursive: true, force: true });
process.exit(0);
