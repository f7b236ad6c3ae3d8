// npm test: installs and builds what is missing, runs the tests of the quick lane, and ends on the line that counts them.
// npm run test:slow: the other lane (test/slow). Arguments go to mocha, in one process then:
// npm test -- test/embedded/*.test.ts, npm test -- --grep "restart". --record-times keeps what each file took.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build, fail, prepareDependencies, projectDir, startNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';
import { readTimes, testPlan, TIMES_FILE } from './testPlan.mjs';

const SLOWEST = 20;
/** Mocha processes: what is tested starts processes of its own, so that two fill two cores. */
const AT_ONCE = 2;
let processes = 0;

const started = Date.now();
const given = process.argv.slice(2);
const args = given.filter((arg) => arg !== '--slow' && arg !== '--record-times');
const isSlow = given.includes('--slow');
await prepareDependencies();
const withoutRedis = await findRedisServer().then(
  () => undefined,
  (error) => error.message,
);
await Promise.all([build(), prepareClusters()]);

const isWhole = args.length === 0;
const { sideBySide, alone, skipped } = isWhole
  ? testPlan({ isSlow, hasRedis: withoutRedis === undefined })
  : { sideBySide: [], alone: [{ files: filesOf(args) }], skipped: [] };
const folder = mkdtempSync(path.join(os.tmpdir(), 'rowpost-report-'));
const reports = [];
const waiting = [...sideBySide];
const runWaiting = async () => {
  for (let run; (run = waiting.shift());) reports.push(await runMocha(run));
};
await Promise.all(Array.from({ length: AT_ONCE }, runWaiting));
for (const run of alone) reports.push(await runMocha(run));
rmSync(folder, { recursive: true });

const files = reports.flatMap((report) => Object.entries(report.files));
if (isWhole) {
  const slowest = files.toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST);
  console.log('\nThe slowest files:');
  for (const [name, ms] of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`);
}
if (given.includes('--record-times')) recordTimes();
const failures = reports.flatMap((report) => report.failures);
if (failures.length > 0) console.log(`\nFailed:\n${failures.map((failure) => `  ${failure}`).join('\n')}`);
if (skipped.length > 0) console.log(`\nSkipped, ${withoutRedis}:\n  ${skipped.join('\n  ')}`);
const sum = (what) => reports.reduce((total, report) => total + report[what], 0);
console.log(`\ntook ${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(reports.every(({ status }) => status === 0) && sum('failed') === 0 ? 0 : 1);

/** Options alone select among the files of the lane. */
function filesOf(given) {
  const namesFiles = given.some((arg) => !arg.startsWith('-') && (arg.includes('*') || existsSync(arg)));
  if (namesFiles) return given;
  if (isSlow) return [...given, '{test,packages/*/test}/slow/**/*.test.ts'];
  return [...given, '{test,packages/*/test}/**/*.test.ts', '--ignore', '**/slow/**'];
}

function recordTimes() {
  const times = readTimes();
  for (const [name, ms] of files) times[name] = Math.round(ms / 1000);
  const kept = Object.entries(times).filter(([name, seconds]) => seconds > 0 && existsSync(name));
  const text = JSON.stringify(Object.fromEntries(kept.toSorted()), null, 2);
  writeFileSync(path.join(projectDir, TIMES_FILE), `${text}\n`);
}

/** The clusters that tests copy; the build takes about as long the first time. */
async function prepareClusters() {
  const prepare = path.join(projectDir, 'test/support/prepareClusters.ts');
  if ((await startNode(['--import', 'tsx', prepare])) !== 0)
    fail('PostgreSQL could not be prepared; its own message is above');
}

/** @returns what the reporter counted */
async function runMocha({ files: mochaArgs, env }) {
  const file = path.join(folder, `${++processes}.json`);
  const startedAtMs = Date.now();
  const status = await startNode(
    [
      path.join(projectDir, 'node_modules/mocha/bin/mocha.js'),
      '--reporter',
      path.join(projectDir, 'scripts/reporter.mjs'),
      ...mochaArgs,
    ],
    { NODE_ENV: 'test', ROWPOST_TEST_REPORT: file, ...(withoutRedis && { TEST_QUEUE: 'postgres' }), ...env },
  );
  const report = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { passed: 0, failed: 0, failures: [], files: {} };
  console.log(
    `  (a mocha process of ${mochaArgs.length} files took ${Math.round((Date.now() - startedAtMs) / 1000)} s)`,
  );
  // A run that broke off, in a hook or while loading a file, has failed even if each test so far has passed.
  if (report.failed === 0 && (status !== 0 || report.passed === 0)) report.failed = 1;
  return { ...report, status };
}
