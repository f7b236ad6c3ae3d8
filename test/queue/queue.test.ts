import { expect } from 'chai';
import { Redis } from 'ioredis';
import { findFreePort } from '../../src/embedded/freePort.js';
import { UsageError } from '../../src/foundation/errors.js';
import type { KnownDelivery } from '../../src/db/ledger/deliveryKey.js';
import { openQueue } from '../../src/queue/openQueue.js';
import type { Queue } from '../../src/queue/queue.js';
import { startRedis, type RedisServer } from '../support/redisServer.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';
import { BACKENDS, pipelineConfig } from '../delivery/pipelineSetup.js';

const OPTIONS = { batches: 2, deliveries: 4, leaseMs: 1_000, graceMs: 300 };
const job = (deliveryid: number, starts = 0): KnownDelivery => ({
  tenantid: 1,
  deliveryid: String(deliveryid),
  createtime: '2026-01-01 00:00:00+00',
  starts,
});
const order = (deliveryid: number, rest: { starts?: number; delayMs?: number; ahead?: number } = {}) => ({
  ...job(deliveryid, rest.starts),
  delayMs: rest.delayMs ?? 0,
  ahead: rest.ahead ?? 0,
});

let db: TestDatabase;
before(async () => {
  db = await createTestDatabase();
});
after(() => db.drop());

for (const backend of BACKENDS) {
  describe(`delivery: the queue in ${backend}`, () => {
    let queue: Queue;
    beforeEach(async () => {
      await db.database.pool.query('truncate bullmq.job cascade');
      queue = await openQueue(await pipelineConfig(backend), db.database, testLog);
    });
    afterEach(() => queue.close());

    const work = (onDelivery: (taken: KnownDelivery) => Promise<void>) =>
      queue.work({ onBatch: () => Promise.resolve(), onDelivery }, OPTIONS);

    it('runs a job once however often it is added, and takes its id again when it is done', async () => {
      const taken: string[] = [];
      await queue.addDeliveries([order(1), order(1)]);
      await queue.addDeliveries([order(1), order(2)]);
      const worker = work((each) => {
        taken.push(each.deliveryid);
        return Promise.resolve();
      });
      await waitFor('both', () => taken.length === 2);
      await queue.addDeliveries([order(3)]);
      await waitFor('the third', () => taken.length === 3);
      // Its id is free once its end is recorded, some time after it was taken.
      await waitFor('the first again', async () => {
        await queue.addDeliveries([order(1)]);
        return taken.length >= 4;
      });
      expect(taken.slice(0, 4)).to.deep.equal(['1', '2', '3', '1']);
      await worker.stop();
    });

    it('takes those with little ahead before those with much, and those for later when it is time', async () => {
      const taken: string[] = [];
      await queue.addDeliveries([
        order(1, { delayMs: 2_000 }),
        order(2, { ahead: 2_000 }),
        order(3, { ahead: 100 }),
        order(4),
      ]);
      const worker = queue.work(
        {
          onBatch: () => Promise.resolve(),
          onDelivery: (each) => {
            taken.push(each.deliveryid);
            return Promise.resolve();
          },
        },
        { ...OPTIONS, batches: 1, deliveries: 2 },
      );
      await waitFor('all', () => taken.length === 4);
      expect(taken).to.deep.equal(['4', '3', '2', '1']);
      await worker.stop();
    });

    it('a job for later can be added by the job that runs now', async () => {
      let runs = 0;
      const worker = work(async () => {
        runs += 1;
        if (runs === 1) await queue.addDeliveries([order(1, { delayMs: 100 })]);
      });
      await queue.addDeliveries([order(1)]);
      await waitFor('the second run', () => runs === 2);
      await worker.stop();
    });

    it('stops within its grace, whatever a job does', async () => {
      let taken = false;
      const worker = work(() => {
        taken = true;
        return new Promise(() => undefined);
      });
      await queue.addDeliveries([order(1)]);
      await waitFor('the job', () => taken);
      const begun = Date.now();
      await worker.stop();
      expect(Date.now() - begun).to.be.within(250, 30_000);
    });
  });
}

describe('delivery: a queue that can’t be used', () => {
  let redis: RedisServer;
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    await redis.stop('SIGKILL');
  });

  const refusal = async (url: string): Promise<UsageError> => {
    const config = await pipelineConfig('redis', { REDIS_URL: url });
    const error = await openQueue(config, db.database, testLog).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof UsageError)) throw new Error(`not refused: ${String(error)}`);
    return error;
  };

  it('Redis that is not there: says so, and what to set', async () => {
    const error = await refusal(`redis://127.0.0.1:${await findFreePort()}`);
    expect(error.message).to.match(/ECONNREFUSED.*REDIS_URL/);
  });

  it('two installations that share Redis have keys of their own, by QUEUE_PREFIX', async () => {
    const connection = new Redis(redis.url);
    const keysBefore = new Set(await connection.keys('*'));
    const queues = await Promise.all(
      ['one', 'other'].map(async (prefix) => {
        const env = { REDIS_URL: redis.url, QUEUE_PREFIX: prefix };
        return openQueue(await pipelineConfig('postgres', env), db.database, testLog);
      }),
    );
    try {
      await queues[0]!.addDeliveries([order(1)]);
      const [all, one, other] = await Promise.all(
        ['*', '{one}*', '{other}*'].map((keys) => connection.keys(keys)),
      );
      expect([...one!, ...other!]).to.have.members(all!.filter((key) => !keysBefore.has(key)));
      expect(one!.length).to.be.greaterThan(other!.length);
    } finally {
      connection.disconnect();
      await Promise.all(queues.map((queue) => queue.close()));
    }
  });

  it('Redis that is full, a replica, or runs no scripts, fails the check although it responds', async () => {
    const connection = new Redis(redis.url);
    const queue = await openQueue(
      await pipelineConfig('redis', { REDIS_URL: redis.url }),
      db.database,
      testLog,
    );
    const refusedWith = async (): Promise<string> =>
      queue.check().then(
        () => 'nothing',
        (error: unknown) => (error as Error).message.split(' ', 1)[0] ?? '',
      );
    try {
      await connection.config('SET', 'maxmemory', 1);
      expect(await refusedWith()).to.equal('OOM');
      await connection.config('SET', 'maxmemory', 0);
      expect(await refusedWith()).to.equal('nothing');
      await connection.acl('SETUSER', 'default', '-eval');
      expect(await refusedWith()).to.equal('NOPERM');
      await connection.acl('SETUSER', 'default', '+eval');
      await connection.replicaof('127.0.0.1', 1);
      expect(await refusedWith()).to.equal('READONLY');
      await connection.replicaof('NO', 'ONE');
      await waitFor('the queue', async () => (await refusedWith()) === 'nothing');
    } finally {
      connection.disconnect();
      await queue.close();
    }
  });

  it('Redis that would throw jobs away is refused', async () => {
    const connection = new Redis(redis.url);
    await connection.config('SET', 'maxmemory-policy', 'allkeys-lru');
    connection.disconnect();
    expect((await refusal(redis.url)).message).to.match(/noeviction.*allkeys-lru/);
  });

  it('PostgreSQL without the queue’s tables: says what to run', async () => {
    await db.database.pool.query('alter schema bullmq rename to elsewhere');
    try {
      const error: unknown = await openQueue(await pipelineConfig('postgres'), db.database, testLog).catch(
        (reason: unknown) => reason,
      );
      expect(error).to.be.instanceOf(UsageError);
      expect((error as Error).message).to.match(/rowpost release/);
    } finally {
      await db.database.pool.query('alter schema elsewhere rename to bullmq');
    }
  });
});
