// Loaded by mocha before every test file.
import { inspect } from 'node:util';
import { forgetLines, recentLines } from './support/recentLines.js';
import { endRun } from './support/teardown.js';

process.env['NODE_ENV'] ??= 'test';

/** mocha goes on after a rejection that nobody handles, and would pass. */
const unhandled: unknown[] = [];
const rejections: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));

export const mochaHooks = {
  afterEach(this: Mocha.Context): void {
    const title = this.currentTest?.fullTitle() ?? 'a hook';
    for (const reason of unhandled.splice(0)) rejections.push(`${title}: ${inspect(reason)}`);
    if (this.currentTest?.state === 'failed') console.log(`${title}\n${recentLines()}`);
    forgetLines();
  },
  /** At the end: a hook that fails ends the run. */
  afterAll(): void {
    if (rejections.length > 0) throw new Error(`unhandled rejections:\n${rejections.join('\n')}`);
  },
};

/** Servers start when a test first asks for them, and end here. */
export const mochaGlobalTeardown = endRun;
