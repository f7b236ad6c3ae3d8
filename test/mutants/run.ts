// npm run mutants [-- <part of a name>]: changes one fence, lease, unique key or layer at a time, in a copy of the project, and
// runs the tests that must notice. Ends with the survivors, and 1 if there are any.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS, type Mutant } from './mutants.js';
import { mutate, readSources } from './mutate.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const COPIED = [
  'assets',
  'docs',
  'migrations',
  'package.json',
  'package-lock.json',
  'packages',
  'scripts',
  'src',
  'test',
  'tsconfig.json',
  '.mocharc.json',
];
const LINKED = ['node_modules', 'dist'];
const TIMEOUT_MS = 300_000;

interface Report {
  readonly passed: number;
  readonly failures: readonly string[];
}

const wanted = process.argv.slice(2).join(' ');
const mutants = MUTANTS.filter(({ name }) => name.includes(wanted));
const sources = readSources(PROJECT);
const copy = mkdtempSync(path.join(os.tmpdir(), 'rowpost-mutants-'));
const survivors: Mutant[] = [];
const failsAnyway = new Set<string>();
try {
  for (const name of COPIED) {
    if (existsSync(path.join(PROJECT, name)))
      cpSync(path.join(PROJECT, name), path.join(copy, name), { recursive: true });
  }
  for (const name of LINKED) symlinkSync(path.join(PROJECT, name), path.join(copy, name));
  const all = [...new Set(mutants.flatMap(({ tests }) => tests))];
  const { passed, failures } = await runTests(all, []);
  if (passed === 0) throw new Error('no test passes without a mutant');
  for (const title of failures) failsAnyway.add(title);
  if (failsAnyway.size > 0)
    console.log(`fails without a mutant, and kills none: ${[...failsAnyway].join(', ')}`);
  console.log(`${mutants.length} mutants; without them ${passed} tests pass\n`);
  for (const mutant of mutants) await runMutant(mutant);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`\n${mutants.length - survivors.length} killed, ${survivors.length} survived`);
for (const { name, within } of survivors) console.log(`  ${within}: ${name}`);
process.exitCode = survivors.length === 0 ? 0 : 1;

async function runMutant(mutant: Mutant): Promise<void> {
  const { name, tests } = mutant;
  const { file, text } = mutate(mutant, sources);
  const place = path.join(copy, file);
  writeFileSync(place, text);
  const options = failsAnyway.size === 0 ? ['--bail'] : [];
  const { failures } = await runTests(tests, options).finally(() =>
    writeFileSync(place, sources.get(file) ?? ''),
  );
  const killer = failures.find((title) => !failsAnyway.has(title));
  if (killer === undefined) survivors.push(mutant);
  console.log(killer === undefined ? `✖ ${name}: SURVIVED` : `✔ ${name}: killed by "${killer}"`);
}

/** A mutant kills no test by keeping it from starting: such a run is an error of the mutant. */
async function runTests(tests: readonly string[], options: readonly string[]): Promise<Report> {
  const file = path.join(copy, 'report.json');
  rmSync(file, { force: true });
  const child = spawn(
    process.execPath,
    [
      'node_modules/mocha/bin/mocha.js',
      '--reporter',
      'scripts/reporter.mjs',
      // A test that hangs is reported before the run is ended.
      '--timeout',
      String(TIMEOUT_MS / 2),
      ...options,
      ...tests,
    ],
    {
      cwd: copy,
      stdio: 'ignore',
      timeout: TIMEOUT_MS,
      env: { ...process.env, NODE_ENV: 'test', ROWPOST_TEST_REPORT: file },
    },
  );
  const status = await new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const report = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Report)
    : { passed: 0, failures: [] };
  if (status !== 0 && report.failures.length === 0)
    throw new Error(`a run of ${tests.join(', ')} was aborted`);
  return report;
}
