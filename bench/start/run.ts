// From the start of each process until it serves, and a command: wall-clock and CPU time. Another build's folder as the second argument is measured in turns.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { projectDir } from '../../scripts/project.mjs';
import { testEnv } from '../../test/support/testConfig.js';
import { createInstallation } from '../support/installation.js';
import { median } from '../support/load.js';
import { describeMachine } from '../support/report.js';
import { endedChildrenCpuSeconds } from '../pipeline/processFigures.js';

const CASES = {
  web: ['web'],
  relay: ['relay'],
  worker: ['worker'],
  release: ['release'],
  'tenant list': ['tenant', 'list'],
};

interface Figures {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const rounds = Number(process.argv[2] ?? 5);
const other = process.argv[3];
const builds = { ...(other === undefined ? {} : { [other]: path.resolve(other) }), here: projectDir };

const installation = await createInstallation('', { durable: false });
const env = {
  PATH: process.env['PATH'],
  ...testEnv({ DATABASE_URL: installation.databaseUrl, LOG_LEVEL: 'info' }),
};
console.log(`\n${describeMachine()}; medians of ${rounds} rounds\n`);
console.log('| | build | until it serves, ms | CPU, ms |');
console.log('| --- | --- | --- | --- |');
for (const [name, args] of Object.entries(CASES)) {
  const figures = Object.keys(builds).map((): Figures[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, build] of Object.values(builds).entries())
      figures[index]?.push(await start(build, args));
  }
  for (const [index, build] of Object.keys(builds).entries()) {
    const of = (what: keyof Figures): string =>
      median((figures[index] ?? []).map((one) => one[what])).toFixed(0);
    console.log(`| ${name} | ${build} | ${of('wallMs')} | ${of('cpuMs')} |`);
  }
}
await installation.stop();

/** Runs a command to its end, or a process until it says that it has started. */
async function start(build: string, args: readonly string[]): Promise<Figures> {
  const cpuBefore = await endedChildrenCpuSeconds();
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, [path.join(build, 'dist/main.js'), ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let said = '';
  let startedMs: number | undefined;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (startedMs !== undefined || !said.includes('"started"')) return;
    startedMs = performance.now();
    child.kill('SIGKILL');
  });
  const [code] = (await exited) as [number | null];
  if (startedMs === undefined && code !== 0) throw new Error(`rowpost ${args.join(' ')}:\n${said}`);
  return {
    wallMs: (startedMs ?? performance.now()) - startedAtMs,
    cpuMs: ((await endedChildrenCpuSeconds()) - cpuBefore) * 1000,
  };
}
