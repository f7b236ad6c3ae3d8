import { UsageError } from '../errors.js';
import type { Logger } from '../log.js';
import { networkWaitMs, NotReadyError } from '../startup.js';
import type { QueueConnections } from './connections.js';
import { logOutages } from './outageLog.js';
import { parseRedisUrl, type RedisAddress } from './redisAddress.js';
import { connectForTheFirstTime, createRedisClient, primariesOf, type RedisClient } from './redisClient.js';
import { modeProblem } from './redisMode.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout for adding jobs, after which the relay keeps them and retries. */
const ADD_TIMEOUT_MS = 5_000;
const RECONNECT_MS = 250;
/** Sentinels and nodes of a cluster are asked one after another. */
const FIRST_CONNECT_TIMEOUT_MS = 3 * CONNECT_TIMEOUT_MS;
/** ioredis reports a Sentinel's network error only in its message. */
const CODE = /\bE[A-Z_]{4,}\b/;

/** Throws UsageError when Redis can't be reached, or would evict jobs when its memory is full. */
export async function connectRedis(url: string, prefix: string, log: Logger): Promise<QueueConnections> {
  const shared = { connectTimeoutMs: CONNECT_TIMEOUT_MS, reconnectMs: RECONNECT_MS };
  const producer = createRedisClient(url, {
    ...shared,
    commandTimeoutMs: ADD_TIMEOUT_MS,
    waitsForConnection: false,
  });
  const consumer = createRedisClient(url, { ...shared, waitsForConnection: true });
  const connections = [producer, consumer];
  for (const connection of connections) connection.on('error', logOutages(log, 'Redis'));
  const close = (): Promise<void> => {
    for (const connection of connections) connection.disconnect();
    return Promise.resolve();
  };
  try {
    await Promise.all(connections.map(connectFirst));
    await requireMode(producer, parseRedisUrl(url).kind);
    await requireNoEviction(producer);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    producer,
    consumer,
    // The hash tag keeps all keys of the queue on one cluster node.
    prefix: `{${prefix}}`,
    backend: undefined,
    check: async () => {
      // ioredis would only say that its stream isn't writeable.
      if (producer.status !== 'ready') throw new Error('there is no connection to Redis');
      await requireNoEviction(producer);
    },
    close,
  };
}

async function connectFirst(connection: RedisClient): Promise<void> {
  try {
    await connectForTheFirstTime(connection, FIRST_CONNECT_TIMEOUT_MS);
  } catch (error) {
    const { message, code = CODE.exec(message)?.[0] ?? '' } = error as NodeJS.ErrnoException;
    const says = `Redis can't be reached (${message}). Set REDIS_URL to a running Redis, or leave it out to queue in PostgreSQL.`;
    const maxWaitMs = networkWaitMs(code);
    throw maxWaitMs === undefined ? new UsageError(says) : new NotReadyError(says, 'queue', maxWaitMs);
  }
}

async function requireMode(connection: RedisClient, kind: RedisAddress['kind']): Promise<void> {
  for (const primary of primariesOf(connection)) {
    const problem = modeProblem(kind, /^redis_mode:(\S+)/m.exec(await primary.info('server'))?.[1]);
    if (problem !== undefined) throw new UsageError(problem);
  }
}

/** Any other policy evicts jobs when memory runs out. INFO works even where managed Redis forbids CONFIG. */
async function requireNoEviction(connection: RedisClient): Promise<void> {
  const infos = await Promise.all(primariesOf(connection).map((primary) => primary.info('memory')));
  if (infos.length === 0) throw new Error('no primary of the Redis Cluster is known');
  const policies = infos.map((info) => /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction');
  const policy = policies.find((name) => name !== 'noeviction');
  if (policy !== undefined) {
    throw new UsageError(
      `Redis would throw jobs away when its memory is full: set its maxmemory-policy to noeviction (it is ${policy}).`,
    );
  }
}
