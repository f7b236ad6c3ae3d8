// Which test files run in a lane, and which of them share a mocha process.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDir } from './project.mjs';

/** Seconds by file, for those that take one or more, as `npm test -- --record-times` measured them. */
export const TIMES_FILE = 'test/times.json';

/** Files that measure time or hold a whole processor: beside others they would measure those. */
const ALONE = [
  'packages/jinja2/test/slow/freezeIntrinsics.test.ts',
  'packages/jinja2/test/slow/poolGroups.test.ts',
  'test/slow/attack/anonymousFlood.test.ts',
  'test/slow/attack/deepResponse.test.ts',
  'test/slow/attack/hangingCarriers.test.ts',
  'test/slow/attack/heavyTemplates.test.ts',
  'test/slow/attack/hiddenRowTiming.test.ts',
  'test/slow/attack/hoardedAttachments.test.ts',
  'test/slow/attack/hugeTransaction.test.ts',
  'test/slow/attack/largePreviews.test.ts',
  'test/slow/attack/longVersions.test.ts',
  'test/slow/attack/lostTriggers.test.ts',
  'test/slow/attack/printedTogether.test.ts',
  'test/slow/attack/reportFloods.test.ts',
  'test/slow/attack/slowEmails.test.ts',
  'test/slow/attack/slowNames.test.ts',
  'test/slow/attack/slowTemplates.test.ts',
  'test/slow/attack/sweptFiles.test.ts',
  'test/slow/worker/idleMeter.test.ts',
];

/** Whose subject is an email on its way, whatever the queue: in Redis in the quick lane, in PostgreSQL in the slow one. */
const ON_EITHER_QUEUE = ['test/delivery/outcomes.test.ts', 'test/delivery/pipeline.test.ts'];

/** Random cases: a fifth in the quick lane, all in the slow one. */
const RANDOM = [
  'packages/jinja2/test/fuzz.test.ts',
  'test/graphql/filter/fuzz.test.ts',
  'test/graphql/filter/hostileTexts.test.ts',
  'test/graphql/requestFuzz.test.ts',
];
const ALL_RANDOM_CASES = { FUZZ_CASES: '2000', FUZZ_SECONDS: '5' };

/** Shares of the time that mocha processes get: two run at once, and the small ones make up for what was misjudged. */
const SHARES = [3, 3, 1, 1];

const NEEDS_REDIS =
  /\b(?:startRedis|createTestRedis|startSentinel)\(|redisTopologies|fault\/\w+Run\.js'|backend: 'redis'|pipeline(?:Config|Env)\('redis'/;

/**
 * @typedef {object} Run of a mocha process
 * @property {string[]} files
 * @property {Record<string, string>} [env]
 */

/**
 * @param {{isSlow: boolean, hasRedis: boolean}} options
 * @returns {{sideBySide: Run[], alone: Run[], skipped: string[]}} `skipped` are files that need the missing Redis
 */
export function testPlan({ isSlow, hasRedis }) {
  const all = ['packages/jinja2/test', 'test'].flatMap(testFilesIn);
  const missing = [...ALONE, ...ON_EITHER_QUEUE, ...RANDOM].find((name) => !all.includes(name));
  if (missing !== undefined) throw new Error(`scripts/testPlan.mjs names ${missing}, which is not there`);
  const lane = all.filter((name) => name.includes('/slow/') === isSlow);
  const skipped = hasRedis ? [] : lane.filter(needsRedis);
  const files = lane.filter((name) => !skipped.includes(name));
  const again = [
    { files: ON_EITHER_QUEUE, env: { TEST_QUEUE: 'postgres' } },
    { files: RANDOM, env: ALL_RANDOM_CASES },
  ];
  return {
    sideBySide: [...inShares(files.filter((name) => !ALONE.includes(name))), ...(isSlow ? again : [])],
    alone: [{ files: files.filter((name) => ALONE.includes(name)) }].filter((run) => run.files.length > 0),
    skipped,
  };
}

function testFilesIn(folder) {
  return readdirSync(path.join(projectDir, folder), { recursive: true })
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
}

function needsRedis(name) {
  return NEEDS_REDIS.test(readFileSync(path.join(projectDir, name), 'utf8'));
}

/** The longest files first, each to the process that has the least for its share. */
function inShares(files) {
  const times = readTimes();
  const secondsOf = (name) => times[name] ?? 0.5;
  const runs = SHARES.map((share) => ({ share, seconds: 0, files: [] }));
  for (const name of files.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const fill = (run) => (run.seconds + secondsOf(name)) / run.share;
    const run = runs.reduce((least, other) => (fill(other) < fill(least) ? other : least));
    run.files.push(name);
    run.seconds += secondsOf(name);
  }
  return runs.filter((run) => run.files.length > 0).map((run) => ({ files: run.files.sort() }));
}

/** @returns {Record<string, number>} */
export function readTimes() {
  const file = path.join(projectDir, TIMES_FILE);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
