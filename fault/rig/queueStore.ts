import type { Redis } from 'ioredis';
import { createRedisClient, primariesOf } from '../../src/queue/redisClient.js';
import type { LedgerReader } from './ledger.js';
import type { Services } from './memberProcess.js';

/** Direct access to the queue's storage. */
export interface QueueStore {
  /** Wipes it, as if it had just been started. */
  wipe(): Promise<void>;
  /** Redis only: memory limit in bytes; 0 for none. */
  limitMemory(bytes: number): Promise<void>;
  /** Its entire contents as text, in pieces. */
  texts(): AsyncIterable<string>;
  close(): Promise<void>;
}

/** BullMQ's schema in PostgreSQL. */
const QUEUE_SCHEMA = 'bullmq';
const DEADLOCK_DETECTED = '40P01';
const MAX_TRIES = 40;

export function openQueueStore({ redisUrl }: Services, ledger: LedgerReader): QueueStore {
  return redisUrl === undefined ? postgresStore(ledger) : redisStore(redisUrl);
}

function postgresStore(ledger: LedgerReader): QueueStore {
  return {
    async wipe() {
      const tables = await ledger.query<{ name: string }>(
        `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname = $1 and tablename <> 'migration' order by 1`,
        [QUEUE_SCHEMA],
      );
      const names = tables.map(({ name }) => name);
      // It locks tables one by one, in another order than the processes: on a deadlock PostgreSQL may abort this
      // transaction, and the next try starts with another table.
      for (let tries = 1; ; tries++) {
        try {
          await ledger.query(`truncate ${names.join(', ')}`);
          return;
        } catch (error) {
          if ((error as { code?: unknown }).code !== DEADLOCK_DETECTED || tries === MAX_TRIES) throw error;
          names.push(...names.splice(0, 1));
        }
      }
    },
    limitMemory: () => Promise.reject(new Error('the queue is in PostgreSQL')),
    async *texts() {
      for await (const { text } of ledger.texts(QUEUE_SCHEMA)) yield text;
    },
    close: () => Promise.resolve(),
  };
}

function redisStore(url: string): QueueStore {
  const client = createRedisClient(url, {
    connectTimeoutMs: 5_000,
    reconnectMs: 200,
    waitsForConnection: true,
  });
  client.on('error', () => undefined);
  const primaries = async (): Promise<readonly Redis[]> => {
    if (client.status === 'wait') await client.connect();
    return primariesOf(client);
  };
  const read = async (redis: Redis, key: string): Promise<unknown> => {
    switch (await redis.type(key)) {
      case 'string':
        return redis.get(key);
      case 'hash':
        return redis.hgetall(key);
      case 'list':
        return redis.lrange(key, 0, -1);
      case 'set':
        return redis.smembers(key);
      case 'zset':
        return redis.zrange(key, '0', '-1');
      case 'stream':
        return redis.xrange(key, '-', '+');
      default:
        return '';
    }
  };
  return {
    async wipe() {
      for (const redis of await primaries()) await redis.flushall();
    },
    async limitMemory(bytes) {
      for (const redis of await primaries()) await redis.config('SET', 'maxmemory', String(bytes));
    },
    async *texts() {
      for (const redis of await primaries()) {
        for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
          const [next, keys] = await redis.scan(cursor, 'COUNT', 500);
          for (const key of keys) yield `${key} ${JSON.stringify(await read(redis, key))}`;
          cursor = next;
        }
      }
    },
    close: () => {
      client.disconnect();
      return Promise.resolve();
    },
  };
}
