// Loaded by mocha before every test file.
import { endRun } from './support/teardown.js';

process.env['NODE_ENV'] ??= 'test';

/** Servers start when a test first asks for them, and end here. */
export const mochaGlobalTeardown = endRun;
