// A worker in a process of its own, for tests that kill or stop it. Started by `forkWorker`.
import { systemClock } from '../../src/foundation/clock.js';
import { openDatabase } from '../../src/db/pool/database.js';
import type { Ledger, LedgerStatement } from '../../src/db/pool/ledgerPool.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { openQueue } from '../../src/queue/openQueue.js';
import { startWorker, type WorkerDeps } from '../../src/worker/worker.js';
import { TEST_BUDGET, testConfig, testLog } from '../support/testConfig.js';
import { keyRing, noEngine, plainRenderer } from './pipelineSetup.js';

const DYING_MS = 300;

/** Conditions hold for all but one record, which ends the process after a moment. */
function dieOf(name: string): WorkerDeps['engine']['evaluateCondition'] {
  if (name === '') return noEngine.evaluateCondition;
  return (_tenantid, _schema, _target, _condition, events) => {
    if (!events.some((event) => event.new?.includes(name))) return Promise.resolve(events.map(() => true));
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), DYING_MS);
    return new Promise<boolean[]>(() => undefined);
  };
}

/** Stops the process as soon as the first start of an attempt is committed. */
function stopAtStart(ledger: Ledger): Ledger {
  let hasStopped = false;
  return {
    ...ledger,
    async query<Row>(statement: LedgerStatement, values: readonly unknown[]) {
      const rows = await ledger.query<Row>(statement, values);
      if (!hasStopped && statement.name?.startsWith('sending_start') === true && rows.length > 0) {
        hasStopped = true;
        process.kill(process.pid, 'SIGSTOP');
      }
      return rows;
    },
  };
}

const config = testConfig(process.env);
const opened = openDatabase({
  url: config.databaseUrl ?? '',
  budget: TEST_BUDGET,
  keyRing,
  statementTimeoutMs: config.statementTimeoutMs,
  lockTimeoutMs: config.lockTimeoutMs,
  poolTimeoutMs: config.poolTimeoutMs,
  applicationName: 'worker under test',
  log: testLog,
});
const database =
  process.env['STOPS_BEFORE_HTTP'] === 'yes' ? { ...opened, ledger: stopAtStart(opened.ledger) } : opened;
const worker = startWorker({
  database,
  config,
  log: testLog,
  clock: systemClock,
  keyRing,
  principals: new PrincipalSource(database.pool),
  engine: { ...noEngine, evaluateCondition: dieOf(process.env['DEADLY_NAME'] ?? '') },
  templates: plainRenderer,
  queue: await openQueue(config, database, testLog),
});
process.once('SIGTERM', () => void worker.stop().then(() => process.exit(0)));
// It ends with the test, however that ends.
process.on('disconnect', () => process.exit());
process.send?.('ready');
