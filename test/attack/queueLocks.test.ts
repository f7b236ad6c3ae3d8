import { expect } from 'chai';
import pg from 'pg';
import { QUEUE_SCHEMA } from '../../src/db/pool/database.js';
import { openQueue } from '../../src/queue/openQueue.js';
import { pipelineConfig } from '../delivery/pipelineSetup.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

const OPTIONS = { batches: 2, deliveries: 4, leaseMs: 1_000, graceMs: 300 };

/** BullMQ computes the keys of its advisory locks from names that anybody can guess. */
describe('advisory locks of the queue in PostgreSQL', () => {
  let test: TestDatabase;
  let hostile: pg.Client;
  before(async () => {
    test = await createTestDatabase();
    hostile = new pg.Client({ connectionString: test.url });
    await hostile.connect();
  });
  after(async () => {
    await hostile.end();
    await test.drop();
  });

  it('held by another role do not stop the queue', async () => {
    const queue = await openQueue(await pipelineConfig('postgres'), test.database, testLog);
    const taken: string[] = [];
    const worker = queue.work(
      {
        onBatch: () => Promise.resolve(),
        onDelivery: ({ deliveryid }) => Promise.resolve(void taken.push(deliveryid)),
      },
      OPTIONS,
    );
    const add = (deliveryid: string): Promise<unknown> =>
      queue.addDeliveries([
        { tenantid: 1, deliveryid, createtime: '2026-01-01 00:00:00+00', starts: 0, delayMs: 0, ahead: 0 },
      ]);
    try {
      await add('1');
      await waitFor('the first job', () => taken.length === 1);
      const { rows } = await test.database.pool.query<{ queue: string }>(
        `select distinct queue from ${QUEUE_SCHEMA}.meta`,
      );
      expect(rows).to.not.deep.equal([]);
      for (const { queue: name } of rows) {
        await hostile.query(
          `select pg_advisory_lock(hashtext('bullmq:finalization'), hashtext($1)), pg_advisory_lock(hashtext($1)),
             pg_advisory_lock(hashtext('bullmq:jidseq:' || $1)), pg_advisory_lock(hashtext('bullmq:concurrency:' || $1)),
             pg_advisory_lock(hashtext('bullmq:limiter:' || $1)), pg_advisory_lock(hashtext('bullmq:evnotify:' || $1)),
             pg_advisory_lock(hashtext('bullmq:evtrim:' || $1))`,
          [name],
        );
      }
      await add('2');
      await waitFor('the second job', () => taken.length === 2);
    } finally {
      await worker.stop();
      await queue.close();
    }
  });
});
