import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import path from 'node:path';
import { expect } from 'chai';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { NotReadyError } from '../../../src/foundation/lifecycle/startup.js';
import { openQueue } from '../../../src/queue/openQueue.js';
import { pipelineConfig } from '../../delivery/pipelineSetup.js';
import { throwawayDataDir } from '../../support/preparedCluster.js';
import { startRedis, startSentinel, type RedisServer } from '../../support/redisServer.js';
import { testLog } from '../../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

describe('delivery: a queue whose servers are silent', () => {
  let db: TestDatabase;
  let redis: RedisServer;
  /** Accepts connections, and never responds. */
  let silent: Server;
  let silentPort: number;
  before(async () => {
    db = await createTestDatabase();
    redis = await startRedis();
    silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    silentPort = (silent.address() as AddressInfo).port;
  });
  after(async () => {
    silent.close();
    await redis.stop('SIGKILL');
    await db.drop();
  });

  it('Redis, Sentinels or a cluster that may come back are waited for', async () => {
    const urls = [silentPort, await findFreePort()].flatMap((port) => [
      `redis://127.0.0.1:${port}`,
      `redis+sentinel://127.0.0.1:${port}/primary`,
      `redis+cluster://127.0.0.1:${port}`,
    ]);
    const open = async (url: string) =>
      openQueue(await pipelineConfig('redis', { REDIS_URL: url }), db.database, testLog);
    for (const result of await Promise.allSettled(urls.map(open))) {
      expect(result.status).to.equal('rejected');
      expect((result as PromiseRejectedResult).reason).to.be.instanceOf(NotReadyError);
    }
  });

  it('a Sentinel that hangs does not keep the others from being asked', async () => {
    const folder = await throwawayDataDir();
    await mkdir(folder, { recursive: true });
    const port = await findFreePort();
    const file = path.join(folder, 'sentinel.conf');
    await writeFile(file, `port ${port}\nsentinel monitor primary 127.0.0.1 ${redis.port} 1\n`);
    const sentinel = await startSentinel(port, file);
    try {
      const config = await pipelineConfig('redis', {
        REDIS_URL: `redis+sentinel://127.0.0.1:${silentPort},127.0.0.1:${port}/primary`,
      });
      const queue = await openQueue(config, db.database, testLog);
      await queue.check();
      await queue.close();
    } finally {
      await sentinel.stop('SIGKILL');
      await rm(folder, { recursive: true });
    }
  });
});
