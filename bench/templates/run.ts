// Compile + render and render only of a 20-item order confirmation, this engine against its peers, and the
// rate through the render processes. Run: (cd bench/templates && npm ci) && node --import tsx bench/templates/run.ts
import { cpus, release, totalmem } from 'node:os';
import { createTemplatePool } from 'rowpost-jinja2';
import { allEngines } from './engines.js';
import type { Engine } from './engines.js';
import { CONTEXT, JINJA2 } from './orderConfirmation.js';

const ROUNDS = 9;
const ROUND_MS = 150;

interface Measurement {
  readonly engine: Engine;
  readonly renderUs: number;
  readonly compileAndRenderUs: number;
}

/** Microseconds for one call, over one round. */
function timeRound(action: () => unknown): number {
  const start = performance.now();
  let calls = 0;
  let elapsed = 0;
  while (elapsed < ROUND_MS) {
    for (let i = 0; i < 5; i++) action();
    calls += 5;
    elapsed = performance.now() - start;
  }
  return (elapsed / calls) * 1000;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Rounds of all engines take turns, so that a busy moment of the machine falls on each alike. */
function measure(engines: readonly Engine[]): Measurement[] {
  const runs = engines.map((engine) => ({
    engine,
    render: engine.compile(),
    renders: [] as number[],
    compiles: [] as number[],
  }));
  for (const { engine, render } of runs) {
    timeRound(render);
    timeRound(() => engine.compile()());
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const { engine, render, renders, compiles } of runs) {
      renders.push(timeRound(render));
      compiles.push(timeRound(() => engine.compile()()));
    }
  }
  return runs.map(({ engine, renders, compiles }) => ({
    engine,
    renderUs: median(renders),
    compileAndRenderUs: median(compiles),
  }));
}

function printTable(measurements: readonly Measurement[]): void {
  const [base] = measurements;
  if (base === undefined) return;
  console.log(
    '\n| engine | render only | × liquidjs | compile + render | × liquidjs |\n|---|---|---|---|---|',
  );
  for (const { engine, renderUs, compileAndRenderUs } of measurements) {
    const name = engine.escapes ? engine.name : `${engine.name} (no escaping)`;
    const cells = [
      `${renderUs.toFixed(1)} µs`,
      (base.renderUs / renderUs).toFixed(1),
      `${compileAndRenderUs.toFixed(1)} µs`,
      (base.compileAndRenderUs / compileAndRenderUs).toFixed(1),
    ];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

/** Renders per second through the pool, a few jobs always waiting. */
async function measurePool(processes: number): Promise<number> {
  const pool = createTemplatePool({ processes });
  const job = {
    contextJson: JSON.stringify(CONTEXT),
    templates: [{ name: 'template', source: JINJA2, syntax: 'jinja2', mode: 'html' } as const],
  };
  const runJobs = async (count: number) => {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await pool.render(job);
    };
    await Promise.all(Array.from({ length: processes * 4 }, worker));
  };
  await runJobs(500);
  const start = performance.now();
  const jobs = 5_000;
  await runJobs(jobs);
  const perSecond = (jobs / (performance.now() - start)) * 1000;
  await pool.close();
  return perSecond;
}

const processors = cpus();
console.log(
  `${processors[0]?.model ?? 'unknown processor'} × ${processors.length}, ${Math.round(totalmem() / 2 ** 30)} GB, ` +
    `Linux ${release()}, Node ${process.version}; medians of ${ROUNDS} rounds`,
);
printTable(measure(allEngines()));
for (const processes of [1, 2]) {
  console.log(`\n${processes} render process(es): ${Math.round(await measurePool(processes))} renders/s`);
}
