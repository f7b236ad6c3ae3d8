// npm test: installs and builds what is missing, runs every test, and ends on the line that counts them.
// Arguments go to mocha: npm test -- test/embedded/*.test.ts, npm test -- --grep "restart".
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fail, prepareProject, projectDir, runNode } from './project.mjs';
import { findRedisServer } from './redis.mjs';

const started = Date.now();
await prepareProject();
await findRedisServer().catch((error) => fail(error.message));

const folder = mkdtempSync(path.join(os.tmpdir(), 'rowpost-counts-'));
const countsFile = path.join(folder, 'counts.json');
const args = process.argv.slice(2);
const namesFiles = args.some((arg) => !arg.startsWith('-') && (arg.includes('*') || existsSync(arg)));
const status = runNode(
  [
    path.join(projectDir, 'node_modules/mocha/bin/mocha.js'),
    '--reporter',
    path.join(projectDir, 'scripts/reporter.mjs'),
    ...(namesFiles ? args : [...args, 'test/**/*.test.ts']),
  ],
  { ROWPOST_TEST_COUNTS: countsFile, NODE_ENV: 'test' },
);
const counts = existsSync(countsFile)
  ? JSON.parse(readFileSync(countsFile, 'utf8'))
  : { passed: 0, failed: 0 };
rmSync(folder, { recursive: true });

// A run that broke off, in a hook or while loading a file, has failed even if each test so far has passed.
if (counts.failed === 0 && (status !== 0 || counts.passed === 0)) counts.failed = 1;
console.log(`\ntook ${Math.round((Date.now() - started) / 1000)} s`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? status : 1);
