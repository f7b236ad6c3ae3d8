import { mkdtemp, open, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { RowpostProcess } from '../../test/support/rowpostProcess.js';
import { runClosedLoad } from '../pipeline/closedLoad.js';
import { measureLatency } from '../pipeline/emailLatency.js';
import { EMAIL_SHOP_TABLES, setUpEmailShop, type EmailShop } from '../pipeline/emailShop.js';
import { mutateRowpost, type Mutator } from '../pipeline/mutations.js';
import { percentile } from '../pipeline/numbers.js';
import { cpuSeconds, postgresCpuSeconds } from '../pipeline/processFigures.js';
import { withSite, type Running, type Site } from '../pipeline/site.js';
import { describeMachine } from '../support/report.js';
import {
  CALIBRATION_PER_SECOND,
  type Latencies,
  type Load,
  type MeasuredPart,
  type Measurements,
  type PerComponent,
} from './measurements.js';

const CONNECTIONS = 16;
const MAX_BEHIND = 400;
/** Until V8 has compiled what runs often. */
const WARM_UP = { connections: 8, warmUpSeconds: 0, seconds: 20, maxBehind: 200 };
const SECONDS = 12;
/** Of the rate at saturation: near it, with latencies that don't grow without end. */
const NEAR_SATURATION = 0.8;
const BACKLOG = 8_000;
const BACKLOG_OF_SINGLES = 3_000;
/** The default of RELAY_BATCH. */
const FULL_BATCH = 100;
const WARM_UP_OF_RELAY = { perSecond: 200, seconds: 4 };
/** More than the items of one tenant. */
const ITEMS_APART = 10_000_000;
const FLUSHES = 300;
/** A page of the write-ahead log. */
const PAGE = Buffer.alloc(8192, 1);

interface Work {
  readonly emails: number;
  /** Where it is not all emails in all the time. */
  readonly perSecond?: number;
  readonly latencyMs?: Latencies;
}
type Run = (load: Load, work: () => Promise<Work>) => Promise<MeasuredPart>;

/**
 * Measures the shipped processes, one of each, under the loads that a simulation is calibrated with and those that it is
 * checked against.
 * @param tenants whose mutations take turns; with more than one only the loads to check against
 */
export async function measureInstallation(tenants: number): Promise<Measurements> {
  const parts: MeasuredPart[] = [];
  const flushMs = await measureFlush();
  await withSite(async (site) => {
    const running: Running = await site.startAll('redis');
    let { relay } = running;
    const shops = [site.shop];
    while (shops.length < tenants) {
      // Emails are told apart by their items.
      const from = `alter table item alter column item_id restart with ${shops.length * ITEMS_APART};`;
      const tenant = await site.installation.addTenant(`${EMAIL_SHOP_TABLES}${from}`);
      shops.push(await setUpEmailShop(running.baseUrl, tenant));
    }
    const mutator = mutateInTurn(running.baseUrl, shops);
    const run: Run = async (load, work) => {
      const part = await measurePart(site, { ...running, relay }, load, work);
      console.log(`  ${JSON.stringify(part)}`);
      parts.push(part);
      return part;
    };
    const paced = (perSecond: number) =>
      run({ kind: 'paced', perSecond }, async () => {
        const { fromWrite } = await measureLatency(mutator, site.carrier, { perSecond, seconds: SECONDS });
        const at = (share: number): number => percentile(fromWrite, share);
        return { emails: fromWrite.length, latencyMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99) } };
      });

    await runClosedLoad(mutator, site.carrier, WARM_UP);
    await run({ kind: 'idle' }, async () => {
      await delay(SECONDS * 1000);
      return { emails: 0 };
    });
    for (const perSecond of [CALIBRATION_PER_SECOND, 50, 200]) await paced(perSecond);
    const closed = { connections: CONNECTIONS, maxBehind: MAX_BEHIND };
    const saturated = await run({ kind: 'closed', ...closed }, async () => {
      const { emails, emailsPerSecond } = await runClosedLoad(mutator, site.carrier, {
        ...closed,
        warmUpSeconds: 1,
        seconds: SECONDS,
      });
      return { emails: emails, perSecond: emailsPerSecond };
    });
    await paced(Math.round(saturated.perSecond * NEAR_SATURATION));
    if (tenants === 1) {
      await measureBacklog(site, relay, mutator, { emails: BACKLOG, relayBatch: FULL_BATCH }, run);
      await relay.kill('SIGTERM');
      relay = await site.startRelay('redis', { RELAY_BATCH: '1' });
      await measureLatency(mutator, site.carrier, WARM_UP_OF_RELAY);
      await measureBacklog(site, relay, mutator, { emails: BACKLOG_OF_SINGLES, relayBatch: 1 }, run);
    }
    mutator.close();
  });
  return { machine: describeMachine(), cores: cpus().length, tenants, flushMs, parts };
}

/** Mutations alone, then their emails: what only calibration needs. */
async function measureBacklog(
  site: Site,
  { child }: RowpostProcess,
  mutator: Mutator,
  { emails, relayBatch }: { readonly emails: number; readonly relayBatch: number },
  run: Run,
): Promise<void> {
  await site.carrier.reset();
  child.kill('SIGSTOP');
  try {
    await run({ kind: 'mutations', connections: CONNECTIONS }, () => mutateAll(mutator, emails));
    await run({ kind: 'drain', relayBatch }, async () => {
      child.kill('SIGCONT');
      await site.carrier.untilAccepted(emails);
      return { emails };
    });
  } finally {
    child.kill('SIGCONT');
  }
}

async function mutateAll(mutator: Mutator, emails: number): Promise<Work> {
  let left = emails;
  const connection = async (): Promise<void> => {
    while (left-- > 0) await mutator.mutate();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return { emails };
}

/** Mutations of all tenants, one after the other. */
function mutateInTurn(baseUrl: string, shops: readonly EmailShop[]): Mutator {
  const mutators = shops.map((shop) => mutateRowpost(baseUrl, shop, CONNECTIONS));
  let turn = 0;
  return {
    mutate() {
      const mutator = mutators[turn++ % mutators.length];
      if (!mutator) throw new Error('there is no tenant');
      return mutator.mutate();
    },
    close: () => mutators.forEach((mutator) => mutator.close()),
  };
}

async function measurePart(
  site: Site,
  running: Running,
  load: Load,
  work: () => Promise<Work>,
): Promise<MeasuredPart> {
  const before = await readCounters(site, running);
  const { emails, perSecond, latencyMs } = await work();
  const after = await readCounters(site, running);
  const seconds = (after.atMs - before.atMs) / 1000;
  const used = Object.entries(after.cpu).map(([name, cpu]) => [
    name,
    cpu - before.cpu[name as keyof PerComponent],
  ]);
  return {
    load,
    seconds,
    emails,
    perSecond: perSecond ?? emails / seconds,
    polls: after.polls - before.polls,
    batches: after.batches - before.batches,
    cpuSeconds: Object.fromEntries(used) as PerComponent,
    ...(latencyMs ? { latencyMs } : {}),
  };
}

interface Counters {
  readonly atMs: number;
  readonly polls: number;
  readonly batches: number;
  readonly cpu: PerComponent;
}

async function readCounters(site: Site, { web, relay, worker }: Running): Promise<Counters> {
  const client = new pg.Client({ connectionString: site.installation.databaseUrl });
  await client.connect();
  // The counters of sequences: rows of before are pruned.
  const { rows } = await client.query<{ polls: number; batches: number }>(
    `select (select max(pollid) from rowpost.relay_poll)::int as polls,
      (select coalesce(max(batchid), 0) from rowpost.relay_batch)::int as batches`,
  );
  await client.end();
  const own = process.cpuUsage();
  const counted = rows[0] ?? { polls: 0, batches: 0 };
  return {
    atMs: performance.now(),
    ...counted,
    cpu: {
      web: await cpuSeconds(web.child.pid ?? 0),
      relay: await cpuSeconds(relay.child.pid ?? 0),
      worker: await cpuSeconds(worker.child.pid ?? 0),
      postgres: await postgresCpuSeconds(site.installation.databaseUrl),
      redis: await cpuSeconds(site.redis.pid),
      carrier: await cpuSeconds(site.carrier.pid),
      load: (own.user + own.system) / 1e6,
    },
  };
}

/** What a commit waits for the disk, by the system call that PostgreSQL makes on Linux. */
async function measureFlush(): Promise<readonly number[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rowpost-bench-'));
  const file = await open(path.join(folder, 'flush'), 'w');
  const tookMs: number[] = [];
  for (let n = 0; n < FLUSHES; n++) {
    const startedAtMs = performance.now();
    await file.write(PAGE, 0, PAGE.length, 0);
    await file.datasync();
    tookMs.push(performance.now() - startedAtMs);
  }
  await file.close();
  await rm(folder, { recursive: true });
  return tookMs.sort((a, b) => a - b).map((ms) => Math.round(ms * 1000) / 1000);
}
