import { Queue as BullQueue } from 'bullmq';
import { Redis } from 'ioredis';
import { openDatabase, type Database } from '../../src/db/pool/database.js';
import type { Ledger } from '../../src/db/pool/ledgerPool.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { openQueue } from '../../src/queue/openQueue.js';
import { Admission } from '../../src/relay/admission.js';
import { publish } from '../../src/relay/publish.js';
import { createRule, createTenant, writeEvents, type TestTenant } from '../../test/delivery/pipelineSetup.js';
import { startRedis } from '../../test/support/redisServer.js';
import { TEST_BUDGET, testConfig, testKeyRing, testLog } from '../../test/support/testConfig.js';
import { createInstallation } from '../support/installation.js';
import { median } from '../support/load.js';
import type { Findings } from './findings.js';
import type { Options } from './options.js';

const TENANTS = 20;
const TRANSACTIONS_A_TENANT = 25;
const ROUNDS = 3;
const BULK = 1_000;

/**
 * What the relay does with a backlog, poll, admission and publish, against adding one bare job for each event. The relay
 * adds a job for each batch, which is the point: as many events are on their way to a worker.
 */
export async function relayAlone({ events }: Options, findings: Findings): Promise<void> {
  const installation = await createInstallation('select');
  const redis = await startRedis();
  const { databaseUrl } = installation;
  const database = openDatabase({
    url: databaseUrl,
    budget: TEST_BUDGET,
    keyRing: testKeyRing,
    statementTimeoutMs: 15_000,
    lockTimeoutMs: 5_000,
    poolTimeoutMs: 5_000,
    applicationName: 'bench',
    log: testLog,
  });
  const ledger = database.ledger;
  const tenants = await makeTenants(database);
  const perTransaction = Math.max(1, Math.round(events / TENANTS / TRANSACTIONS_A_TENANT));
  const relayed: number[] = [];
  const added: number[] = [];
  // The first round warms up both.
  for (let round = 0; round <= ROUNDS; round++) {
    for (let i = 0; i < TRANSACTIONS_A_TENANT; i++) {
      for (const tenant of tenants) await writeEvents(database, tenant, perTransaction);
    }
    const count = perTransaction * TENANTS * TRANSACTIONS_A_TENANT;
    const relaySeconds = await timeRelay(database, ledger, databaseUrl, `${redis.url}/${2 * round}`, count);
    const addSeconds = await timeAddBulk(`${redis.url}/${2 * round + 1}`, count);
    if (round === 0) continue;
    relayed.push(count / relaySeconds);
    added.push(count / addSeconds);
  }
  findings.note(
    `relay, poll + admission + publish: ${median(relayed).toFixed(0)} events/s (${shown(relayed)})`,
  );
  findings.note(`bare addBulk: ${median(added).toFixed(0)} jobs/s (${shown(added)})`);
  findings.bar('relay alone ÷ bare addBulk', median(relayed) / median(added), { atLeast: 0.6 });
  await database.close();
  await redis.stop();
  await installation.stop();
}

async function makeTenants(database: Database): Promise<readonly TestTenant[]> {
  const tenants: TestTenant[] = [];
  for (let i = 0; i < TENANTS; i++) {
    const tenant = await createTenant(database);
    await createRule(database, tenant);
    tenants.push(tenant);
  }
  return tenants;
}

/** The relay's steps until the outbox is read and all of it is in the queue. @returns seconds */
async function timeRelay(
  database: Database,
  ledger: Ledger,
  databaseUrl: string,
  redisUrl: string,
  expected: number,
): Promise<number> {
  const config = testConfig({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl });
  const queue = await openQueue(config, database, testLog);
  const limits = { batchEvents: config.relayBatch, pollEvents: config.relayBatch * 20 };
  // No worker takes anything, so nothing may be held back.
  const admission = new Admission({ min: Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  let events = 0;
  const begun = performance.now();
  for (let more = true; more;) {
    const result = await pollOutbox(ledger, limits);
    await publish(queue, admission, admission.offer(result.batches));
    events += result.events;
    more = result.more;
  }
  const seconds = (performance.now() - begun) / 1000;
  await queue.close();
  if (events !== expected) throw new Error(`the relay read ${events} of ${expected} events`);
  return seconds;
}

async function timeAddBulk(redisUrl: string, jobs: number): Promise<number> {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new BullQueue('bare', { connection });
  await queue.waitUntilReady();
  const begun = performance.now();
  for (let from = 0; from < jobs; from += BULK) {
    const size = Math.min(BULK, jobs - from);
    await queue.addBulk(Array.from({ length: size }, (_, i) => ({ name: 'send', data: { id: from + i } })));
  }
  const seconds = (performance.now() - begun) / 1000;
  await queue.close();
  connection.disconnect();
  return seconds;
}

const shown = (rates: readonly number[]): string => rates.map((rate) => rate.toFixed(0)).join(' ');
