import { percentile } from '../pipeline/numbers.js';
import { Installation } from './installation.js';
import { arrive } from './loads.js';
import type { Component } from './measurements.js';
import { Random, Zipf } from './random.js';
import { Simulation } from './simulation.js';
import { Site, TENANT_CONNECTIONS, type Costs, type Crowd, type Terms } from './site.js';

/** The machines of a cell, besides one relay and one Redis. */
export interface Size {
  readonly web: number;
  readonly workers: number;
  readonly postgresCores: number;
}

/** What a cell does under a load. */
export interface CellRun {
  readonly acceptedPerSecond: number;
  readonly batchesPerEmail: number;
  readonly flushesPerSecond: number;
  /** Cores that were busy, on average, and their part of those that there are. */
  readonly cores: PerPart;
  readonly use: PerPart;
  readonly p50: number;
  readonly p99: number;
}

const PARTS = ['web', 'relay', 'worker', 'postgres', 'redis'] as const satisfies readonly Component[];
type PerPart = Readonly<Record<(typeof PARTS)[number], number>>;

/** Of each machine at the peak, so that what is lost elsewhere finds room. */
const TARGET_USE = 0.6;
/** WORKER_CONCURRENCY, four times the default: a carrier that takes 100 ms keeps an email in its slot for most of the time. */
export const CONCURRENCY = 256;
const WARM_UP_MS = 2_000;
const WINDOW_MS = 5_000;
const SIZING_ROUNDS = 2;
const SEED = 1;
/** Where sizing begins: each process of one core, PostgreSQL with as many as it wants. */
const FIRST_PER_PROCESS = 250;
const AMPLE = 1_000;

/** How much more emails there are at the peak than on average. */
export const PEAK = 10;
export const SECONDS_A_DAY = 86_400;
/** The change, and the query of the email. */
export const TRANSACTIONS_A_EMAIL = 2;
/** `src/db/catalog/catalogStore.ts` keeps 15,000 tables: so many tenants with 30. */
export const KNOWN_TENANTS = 500;
/**
 * CPU time in milliseconds, by `npm run bench -- tenants`: the first response of a tenant takes 48 more than the second, two
 * thirds of it in PostgreSQL; requests of tenants at random, most of which meet a session that does not know them, 4.5 more
 * of PostgreSQL's. Workers are taken to be like web processes.
 */
const COLD = { process: 16, postgres: 32 } as const;
const STRANGE = 4.5;

function withTenants(costMs: Costs): Costs {
  return {
    ...costMs,
    web: { ...costMs.web, cold: COLD.process },
    worker: { ...costMs.worker, cold: COLD.process },
    postgres: { ...costMs.postgres, cold: COLD.postgres, strange: STRANGE },
  };
}

/** Runs one cell at a steady rate, tenants by Zipf's law. */
export function runCell(
  terms: Terms,
  size: Size,
  perSecond: number,
  tenants: Zipf,
  known = KNOWN_TENANTS,
): CellRun {
  const simulation = new Simulation();
  const random = new Random(SEED);
  const carriers = new Random(SEED + 1);
  const cores = { processes: size.web + size.workers + 1, postgres: size.postgresCores, redis: 1 };
  const processes = size.web + size.workers;
  const transactions =
    (perSecond * TRANSACTIONS_A_EMAIL * SECONDS_A_DAY) / PEAK / processes / TENANT_CONNECTIONS;
  const crowd: Crowd = {
    tenants: tenants.ranks.length,
    perProcess: known,
    draw: (from) => tenants.draw(from),
    strangeness: (tenantid) => Math.exp(-transactions * tenants.shareOf(tenantid)),
  };
  const carrier = () => 50 + carriers.exponential(50);
  const costMs = withTenants(terms.costMs);
  const site = new Site(simulation, random, { ...terms, costMs, carrierMs: carrier, crowd }, cores);
  const installation = new Installation(site, {
    ...size,
    relayBatch: 100,
    concurrency: CONCURRENCY,
    withPeers: false,
  });
  arrive({ simulation, random }, perSecond, WARM_UP_MS + WINDOW_MS, () =>
    installation.mutate(tenants.draw(random)),
  );
  simulation.runFor(WARM_UP_MS);
  const read = () => ({
    accepted: installation.accepted,
    batches: installation.relay.batches,
    writes: site.disk.writes,
    busyMs: PARTS.map((name) => site.accounts[name].busyMs),
  });
  const before = read();
  installation.latenciesMs = [];
  simulation.runFor(WINDOW_MS);
  const after = read();
  const accepted = after.accepted - before.accepted;
  const machines: PerPart = {
    web: size.web,
    relay: 1,
    worker: size.workers,
    postgres: size.postgresCores,
    redis: 1,
  };
  const busy = PARTS.map((_, at) => ((after.busyMs[at] ?? 0) - (before.busyMs[at] ?? 0)) / WINDOW_MS);
  const perPart = (of: (part: keyof PerPart, at: number) => number): PerPart =>
    Object.fromEntries(PARTS.map((part, at) => [part, of(part, at)])) as PerPart;
  return {
    acceptedPerSecond: (accepted * 1000) / WINDOW_MS,
    batchesPerEmail: (after.batches - before.batches) / accepted,
    flushesPerSecond: ((after.writes - before.writes) * 1000) / WINDOW_MS,
    cores: perPart((_, at) => busy[at] ?? 0),
    use: perPart((part, at) => (busy[at] ?? 0) / machines[part]),
    p50: percentile(installation.latenciesMs, 0.5),
    p99: percentile(installation.latenciesMs, 0.99),
  };
}

/** Finds the machines with which the load leaves each of them as idle as it should be. */
export function sizeCell(terms: Terms, perSecond: number, tenants: Zipf, known = KNOWN_TENANTS): Size {
  const processes = Math.ceil(perSecond / FIRST_PER_PROCESS);
  let size: Size = { web: processes, workers: processes, postgresCores: AMPLE };
  for (let round = 0; round < SIZING_ROUNDS; round++) {
    const { use, acceptedPerSecond } = runCell(terms, size, perSecond, tenants, known);
    // Where one part is the limit, the others are sized for all emails nevertheless.
    const wanted = (machines: number, used: number): number =>
      Math.max(1, Math.ceil((machines * used * Math.max(1, perSecond / acceptedPerSecond)) / TARGET_USE));
    size = {
      web: wanted(size.web, use.web),
      workers: wanted(size.workers, use.worker),
      postgresCores: wanted(size.postgresCores, use.postgres),
    };
  }
  return size;
}

/** Tenants placed on cells by chance, and each cell's part of all email; the busiest cell first. */
export function placeTenants(tenants: number, cells: number): readonly { zipf: Zipf; share: number }[] {
  const random = new Random(SEED);
  const ranks = Array.from({ length: cells }, (): number[] => []);
  for (let rank = 1; rank <= tenants; rank++) ranks[Math.floor(random.next() * cells)]?.push(rank);
  const placed = ranks.map((own) => new Zipf(own));
  const all = placed.reduce((sum, { weight }) => sum + weight, 0);
  return placed
    .map((zipf) => ({ zipf, share: zipf.weight / all }))
    .sort((one, other) => other.share - one.share);
}
