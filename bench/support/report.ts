import { cpus, totalmem } from 'node:os';
import { median, type Measured } from './load.js';

/** The machine in one line: figures mean nothing without it. */
export function describeMachine(): string {
  const [first] = cpus();
  return `${cpus().length} × ${first?.model.trim() ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`;
}

/** Prints a table of medians; ratios are against the row named `against`. */
export function report(title: string, against: string, results: readonly Measured[]): void {
  const base = results.find((result) => result.name === against);
  if (!base) throw new Error(`no result is named ${against}`);
  const baseRate = median(base.rates);
  console.log(`\n${title}\n${describeMachine()}\n`);
  console.log('| | req/s (median) | ratio | p50 ms | p99 ms | rounds |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const { name, rates, p50Ms, p99Ms } of results) {
    const rate = median(rates);
    const ratio = (rate / baseRate).toFixed(2);
    const rounds = rates.map((r) => r.toFixed(0)).join(' ');
    console.log(`| ${name} | ${rate.toFixed(0)} | ${ratio} | ${p50Ms} | ${p99Ms} | ${rounds} |`);
  }
}
