import { readFileSync, writeFileSync } from 'node:fs';

/** The only paced load that costs are taken from; all others are predicted. */
export const CALIBRATION_PER_SECOND = 25;

/** Whose CPU time is told apart. */
export const COMPONENTS = ['web', 'relay', 'worker', 'postgres', 'redis', 'carrier', 'load'] as const;
export type Component = (typeof COMPONENTS)[number];
export type PerComponent = Readonly<Record<Component, number>>;

/** What a part of a run was. Each begins and ends with nothing in hand. */
export type Load =
  | { readonly kind: 'idle' }
  /** Mutations at a steady rate. */
  | { readonly kind: 'paced'; readonly perSecond: number }
  /** Mutations as fast as their emails keep up. */
  | { readonly kind: 'closed'; readonly connections: number; readonly maxBehind: number }
  /** Mutations as fast as they are answered, while the relay stands still. */
  | { readonly kind: 'mutations'; readonly connections: number }
  /** The emails of these mutations. */
  | { readonly kind: 'drain'; readonly relayBatch: number };

export interface Latencies {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface MeasuredPart {
  readonly load: Load;
  readonly seconds: number;
  /** Mutations of which each becomes an email; in the part `mutations`, later. */
  readonly emails: number;
  /** Emails, or mutations in the part of that name, a second. */
  readonly perSecond: number;
  /** Polls that found events, and the batches made of them. */
  readonly polls: number;
  readonly batches: number;
  readonly cpuSeconds: PerComponent;
  /** From the row's commit to the carrier, of paced loads. */
  readonly latencyMs?: Latencies;
}

/** One run of `simulate measure`. */
export interface Measurements {
  readonly machine: string;
  readonly cores: number;
  readonly tenants: number;
  /** Times of one write to the disk, in the order of size. */
  readonly flushMs: readonly number[];
  readonly parts: readonly MeasuredPart[];
}

export function readMeasurements(file: string): Measurements {
  return JSON.parse(readFileSync(file, 'utf8')) as Measurements;
}

export function writeMeasurements(file: string, measurements: Measurements): void {
  writeFileSync(file, `${JSON.stringify(measurements, undefined, 1)}\n`);
}
