import { expect } from 'chai';
import { pino } from 'pino';
import { systemClock } from '../../../src/foundation/clock.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import type { Queue } from '../../../src/queue/queue.js';
import { startWorker } from '../../../src/worker/worker.js';
import { startFakeProvider } from '../../support/fakeProvider.js';
import { createTestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import {
  countStates,
  createRule,
  createTenant,
  keyRing,
  noEngine,
  pipelineConfig,
  plainRenderer,
  startPipeline,
  writeEvents,
} from '../../delivery/pipelineSetup.js';

describe('delivery: a queue that refuses the hint at a retry', () => {
  it('is logged, and the email is still sent', async () => {
    const db = await createTestDatabase();
    const provider = await startFakeProvider();
    provider.behave = () =>
      provider.calls.length === 0 ? { kind: 'reply', status: 500 } : { kind: 'accept' };
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    const pipeline = await startPipeline(db.database, config, { workers: 0 });
    const lines: string[] = [];
    const worker = startWorker({
      database: db.database,
      config,
      log: pino({ level: 'debug' }, { write: (line) => lines.push(line) }),
      clock: systemClock,
      keyRing,
      principals: new PrincipalSource(db.database.pool),
      engine: noEngine,
      templates: plainRenderer,
      queue: refusingHints(pipeline.queue),
    });
    try {
      const tenant = await createTenant(db.database);
      await createRule(db.database, tenant);
      await writeEvents(db.database, tenant, 1);
      await waitFor('the email', async () => (await countStates(db.database, tenant.tenantid))['sent'] === 1);
      const told = lines.filter((line) => line.includes('"level":20') && line.includes('the queue is away'));
      expect(told).to.have.length(1);
      expect(told[0]).to.include('deliveries could not be queued; the reconciler will');
    } finally {
      await worker.stop();
      await pipeline.stop();
      await provider.stop();
      await db.drop();
    }
  });
});

/** The queue, away whenever something is to be hinted at. */
function refusingHints(queue: Queue): Queue {
  return {
    addBatches: (jobs) => queue.addBatches(jobs),
    addDeliveries: () => Promise.reject(new Error('the queue is away')),
    work: (handlers, options) => queue.work(handlers, options),
    check: () => queue.check(),
    close: () => queue.close(),
  };
}
