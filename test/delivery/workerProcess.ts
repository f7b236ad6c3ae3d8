// A worker in a process of its own, for tests that kill or stop it. Started by `forkWorker`.
import { systemClock } from '../../src/clock.js';
import { loadConfig } from '../../src/config.js';
import { openDatabase } from '../../src/db/database.js';
import { PrincipalSource } from '../../src/db/principal.js';
import { openQueue } from '../../src/queue/queue.js';
import { startWorker } from '../../src/worker/worker.js';
import { testLog } from '../support/testConfig.js';
import { keyRing, noEngine, plainRenderer } from './pipelineSetup.js';

const config = loadConfig(process.env);
const database = openDatabase({
  url: config.databaseUrl ?? '',
  poolSize: 4,
  statementTimeoutMs: config.statementTimeoutMs,
  lockTimeoutMs: config.lockTimeoutMs,
  connectTimeoutMs: config.connectTimeoutMs,
  applicationName: 'worker under test',
  log: testLog,
});
await startWorker({
  database,
  config,
  log: testLog,
  clock: systemClock,
  keyRing,
  principals: new PrincipalSource(database.knex),
  engine: noEngine,
  templates: plainRenderer,
  queue: await openQueue(config, database, testLog),
});
// It ends with the test, however that ends.
process.on('disconnect', () => process.exit());
process.send?.('ready');
