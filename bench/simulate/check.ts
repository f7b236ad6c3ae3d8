import {
  CALIBRATION_PER_SECOND,
  type Component,
  type Load,
  type MeasuredPart,
  type Measurements,
} from './measurements.js';
import { simulateParts } from './replay.js';
import type { Terms } from './site.js';

const SHOWN: readonly Component[] = ['web', 'relay', 'worker', 'postgres', 'redis'];

/** Prints what was measured beside what the simulation says of the same loads. */
export function compare(measured: Measurements, terms: Terms): void {
  const simulated = simulateParts(measured, measured.parts, terms);
  console.log(`\n${measured.machine}, ${measured.tenants} tenants: measured → computed\n`);
  console.log(
    `| | emails/s | p50 ms | p99 ms | batches | ${SHOWN.map((name) => `${name}, CPU ms an email`).join(' | ')} |`,
  );
  console.log(`|${' --- |'.repeat(SHOWN.length + 5)}`);
  measured.parts.forEach((part, at) => {
    const computed = simulated[at];
    if (!computed || part.load.kind === 'idle') return;
    const latency = (share: 'p50' | 'p99'): string =>
      part.latencyMs ? beside(part.latencyMs[share], computed.latencyMs[share], 1) : '';
    const cpu = SHOWN.map((name) => {
      const each = (seconds: number): number => (seconds * 1000) / part.emails;
      return beside(each(part.cpuSeconds[name]), each(computed.cpuSeconds[name]), 2);
    });
    const rate =
      part.load.kind === 'paced'
        ? String(part.load.perSecond)
        : beside(part.perSecond, computed.perSecond, 0);
    const batches = beside(part.batches, computed.batches, 0);
    const cells = [describe(part), rate, latency('p50'), latency('p99'), batches, ...cpu];
    console.log(`| ${cells.join(' | ')} |`);
  });
}

function describe({ load }: MeasuredPart): string {
  const isGiven = load.kind === 'paced' ? load.perSecond === CALIBRATION_PER_SECOND : load.kind !== 'closed';
  return `${nameOf(load)}${isGiven ? ' (calibrates)' : ''}`;
}

function nameOf(load: Load): string {
  switch (load.kind) {
    case 'idle':
      return 'at rest';
    case 'paced':
      return `${load.perSecond}/s`;
    case 'closed':
      return 'as fast as emails keep up';
    case 'mutations':
      return 'mutations alone';
    case 'drain':
      return load.relayBatch === 1 ? 'their emails, in batches of one' : 'their emails';
  }
}

/** With the error, where there is one to speak of. */
function beside(measured: number, computed: number, digits: number): string {
  const shown = `${measured.toFixed(digits)} → ${computed.toFixed(digits)}`;
  if (measured <= 0) return shown;
  const percent = Math.round((computed / measured - 1) * 100);
  return `${shown} (${percent < 0 ? '−' : '+'}${Math.abs(percent)} %)`;
}
