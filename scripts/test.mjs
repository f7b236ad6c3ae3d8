// npm test: installs and builds what is missing, runs every test, and ends on the line that counts them.
// Arguments go to mocha, in one process then: npm test -- test/embedded/*.test.ts, npm test -- --grep "restart".
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build, fail, prepareDependencies, projectDir, startNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';
import { testGroups } from './testGroups.mjs';

const SLOWEST = 20;
/** Mocha processes: what is tested starts processes of its own, so that two fill two cores. */
const AT_ONCE = 2;
let processes = 0;

const started = Date.now();
await prepareDependencies();
await findRedisServer().catch((error) => fail(error.message));
await Promise.all([build(), prepareClusters()]);

const args = process.argv.slice(2);
const namesFiles = args.some((arg) => !arg.startsWith('-') && (arg.includes('*') || existsSync(arg)));
const { sideBySide, alone } =
  args.length === 0
    ? testGroups()
    : { sideBySide: [], alone: namesFiles ? args : [...args, '{test,packages/*/test}/**/*.test.ts'] };
const folder = mkdtempSync(path.join(os.tmpdir(), 'rowpost-report-'));
const reports = [];
const waiting = [...sideBySide];
const runWaiting = async () => {
  for (let group; (group = waiting.shift());) reports.push(await runMocha(group));
};
await Promise.all(Array.from({ length: AT_ONCE }, runWaiting));
reports.push(await runMocha(alone));
rmSync(folder, { recursive: true });

if (args.length === 0) {
  const files = reports.flatMap((report) => Object.entries(report.files));
  const slowest = files.sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  console.log('\nThe slowest files:');
  for (const [name, ms] of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`);
}
const failures = reports.flatMap((report) => report.failures);
if (failures.length > 0) console.log(`\nFailed:\n${failures.map((failure) => `  ${failure}`).join('\n')}`);
const sum = (what) => reports.reduce((total, report) => total + report[what], 0);
console.log(`\ntook ${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(reports.every(({ status }) => status === 0) && sum('failed') === 0 ? 0 : 1);

/** The clusters that tests copy; the build takes about as long the first time. */
async function prepareClusters() {
  const prepare = path.join(projectDir, 'test/support/prepareClusters.ts');
  if ((await startNode(['--import', 'tsx', prepare])) !== 0)
    fail('PostgreSQL could not be prepared; its own message is above');
}

/** @returns what the reporter counted */
async function runMocha(mochaArgs) {
  const file = path.join(folder, `${++processes}.json`);
  const startedAtMs = Date.now();
  const status = await startNode(
    [
      path.join(projectDir, 'node_modules/mocha/bin/mocha.js'),
      '--reporter',
      path.join(projectDir, 'scripts/reporter.mjs'),
      ...mochaArgs,
    ],
    { NODE_ENV: 'test', ROWPOST_TEST_REPORT: file },
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
