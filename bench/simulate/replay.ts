import { percentile } from '../pipeline/numbers.js';
import { Installation } from './installation.js';
import { LoadRunner } from './loads.js';
import {
  COMPONENTS,
  type Component,
  type Latencies,
  type MeasuredPart,
  type Measurements,
  type PerComponent,
} from './measurements.js';
import type { Operation } from './machine.js';
import { Random } from './random.js';
import { Simulation } from './simulation.js';
import { Site, type Terms } from './site.js';

export interface SimulatedPart {
  readonly perSecond: number;
  readonly batches: number;
  readonly cpuSeconds: PerComponent;
  readonly done: Readonly<Record<Component, Readonly<Record<Operation, number>>>>;
  readonly latencyMs: Latencies;
}

const SEED = 1;

/** The same loads as were measured, one web, one relay and one worker on the same number of cores, with load and carrier. */
export function simulateParts(
  { cores, tenants }: Measurements,
  parts: readonly MeasuredPart[],
  terms: Terms,
): readonly SimulatedPart[] {
  const simulated: SimulatedPart[] = [];
  // Batches of one are measured with a relay of their own.
  for (const relayBatch of [100, 1]) {
    const simulation = new Simulation();
    const random = new Random(SEED);
    const site = new Site(simulation, random, terms, cores);
    const processes = { web: 1, workers: 1, relayBatch, concurrency: 64, withPeers: true };
    const installation = new Installation(site, processes);
    const loads = new LoadRunner(simulation, installation, tenants);
    parts.forEach((part, at) => {
      if (batchOf(parts, at) !== relayBatch) return;
      simulated[at] = simulatePart(site, installation, () => loads.run(part.load, part));
    });
  }
  return simulated;
}

/** RELAY_BATCH while this part was measured: mutations are followed by their drain. */
function batchOf(parts: readonly MeasuredPart[], at: number): number {
  const loads = parts.slice(at, at + 2).map(({ load }) => load);
  const drain = loads.find((load) => load.kind === 'drain');
  const isPartOfIt = loads[0]?.kind === 'mutations' || loads[0]?.kind === 'drain';
  return drain && isPartOfIt ? drain.relayBatch : 100;
}

function simulatePart(site: Site, installation: Installation, run: () => void): SimulatedPart {
  const { simulation, accounts } = site;
  const read = () => ({
    atMs: simulation.nowMs,
    mutated: installation.mutated,
    accepted: installation.accepted,
    batches: installation.relay.batches,
    accounts: COMPONENTS.map((name) => ({ busyMs: accounts[name].busyMs, done: { ...accounts[name].done } })),
  });
  installation.latenciesMs = [];
  const before = read();
  run();
  const after = read();
  const at = (share: number): number => percentile(installation.latenciesMs, share);
  const emails = Math.max(after.mutated - before.mutated, after.accepted - before.accepted);
  return {
    perSecond: (emails * 1000) / (after.atMs - before.atMs),
    batches: after.batches - before.batches,
    cpuSeconds: each((n) => ((after.accounts[n]?.busyMs ?? 0) - (before.accounts[n]?.busyMs ?? 0)) / 1000),
    done: each((n) => {
      const done = Object.entries(after.accounts[n]?.done ?? {}) as [Operation, number][];
      const was = before.accounts[n]?.done;
      return Object.fromEntries(done.map(([name, count]) => [name, count - (was?.[name] ?? 0)])) as Record<
        Operation,
        number
      >;
    }),
    latencyMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99) },
  };
}

function each<T>(of: (at: number) => T): Readonly<Record<Component, T>> {
  return Object.fromEntries(COMPONENTS.map((name, at) => [name, of(at)])) as Record<Component, T>;
}
