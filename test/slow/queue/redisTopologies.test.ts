import { setTimeout as delay } from 'node:timers/promises';
import { openQueue } from '../../../src/queue/openQueue.js';
import type { Queue } from '../../../src/queue/queue.js';
import { pipelineConfig } from '../../delivery/pipelineSetup.js';
import {
  startRedisCluster,
  startRedisWithSentinels,
  type RedisTopology,
} from '../../support/redisTopologies.js';
import { testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const OPTIONS = { batches: 2, deliveries: 4, leaseMs: 1_000, graceMs: 300 };
/**
 * From the new primary's first moment until a job runs that was added after it. A connection to one that hangs is given up after 12 s.
 */
const MAX_PAUSE_MS = 120_000;

for (const [name, ways, more, start] of [
  ['Sentinels', ['SIGKILL', 'SIGSTOP'], ', and when the next one hangs', () => startRedisWithSentinels()],
  [
    'a Redis Cluster',
    ['SIGKILL'],
    ', and when its slot is moved',
    (prefix: string) => startRedisCluster(`{${prefix}}:deliveries:wait`),
  ],
] as const) {
  describe(`delivery: the queue behind ${name}`, function () {
    let db: TestDatabase;
    let topology: RedisTopology;
    let queue: Queue;
    before(async () => {
      db = await createTestDatabase();
      const config = await pipelineConfig('redis');
      topology = await start(config.queuePrefix);
      queue = await openQueue({ ...config, redisUrl: topology.url }, db.database, testLog);
    });
    after(async () => {
      await queue.close();
      await topology.stop();
      await db.drop();
    });

    it(`goes on when its primary is killed${more}`, async () => {
      const taken = new Set<number>();
      const worker = queue.work(
        {
          onBatch: () => Promise.resolve(),
          onDelivery: ({ deliveryid }) => {
            taken.add(Number(deliveryid));
            return Promise.resolve();
          },
        },
        OPTIONS,
      );
      // As the relay does: what could not be added is added again.
      let added = 0;
      const stopped = new AbortController();
      const adding = (async () => {
        while (!stopped.signal.aborted) {
          const job = {
            tenantid: 1,
            deliveryid: String(added + 1),
            createtime: '2026-01-01 00:00:00+00',
            starts: 0,
          };
          await queue.addDeliveries([{ ...job, delayMs: 0, ahead: 0 }]).then(
            () => added++,
            () => delay(50),
          );
          await delay(5);
        }
      })();
      const goesOn = async (): Promise<void> => {
        const from = added + 1;
        await waitFor(`a job after ${from}`, () => [...taken].some((id) => id > from), {
          timeoutMs: MAX_PAUSE_MS,
        });
      };
      try {
        // By then, all connections of a worker are open.
        await waitFor('a hundred jobs', () => taken.size >= 100);
        if (topology.moveQueue) {
          await topology.moveQueue();
          await goesOn();
        }
        for (const how of ways) {
          await topology.killPrimary(how);
          await goesOn();
          await topology.restoreKilled();
          await goesOn();
          await queue.check();
        }
      } finally {
        stopped.abort();
        await adding;
        await worker.stop();
      }
    });
  });
}
