import { UsageError } from '../foundation/errors.js';
import type { Logger } from '../foundation/observability/log.js';
import { networkWaitMs, NotReadyError } from '../foundation/lifecycle/startup.js';
import type { QueueConnections } from './queueConnections.js';
import { logOutages } from './outageLog.js';
import { parseRedisUrl, type RedisAddress } from '../config/redisAddress.js';
import {
  connectForTheFirstTime,
  createRedisClient,
  redisErrorCode,
  type RedisClient,
} from './redisClient.js';
import { keyPrefix, probeWrites, readRedisFacts } from './redisFacts.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout for adding jobs, after which the relay keeps them and retries. */
const ADD_TIMEOUT_MS = 5_000;
const RECONNECT_MS = 250;
/** Sentinels and nodes of a cluster are tried one after another. */
const FIRST_CONNECT_TIMEOUT_MS = 3 * CONNECT_TIMEOUT_MS;

/** Throws UsageError when Redis can't be reached, or would evict jobs when its memory is full. */
export async function connectRedis(url: string, prefix: string, log: Logger): Promise<QueueConnections> {
  const { kind } = parseRedisUrl(url);
  const shared = { connectTimeoutMs: CONNECT_TIMEOUT_MS, reconnectMs: RECONNECT_MS };
  const producer = createRedisClient(url, {
    ...shared,
    commandTimeoutMs: ADD_TIMEOUT_MS,
    waitsForConnection: false,
  });
  const consumer = createRedisClient(url, { ...shared, waitsForConnection: true });
  const connections = [producer, consumer];
  // Until then, the caller gets the error.
  let isOpen = false;
  const onError = logOutages(log, 'Redis');
  for (const connection of connections) {
    connection.on('error', (error: Error) => {
      if (isOpen) onError(error);
    });
  }
  const close = (): Promise<void> => {
    for (const connection of connections) connection.disconnect();
    return Promise.resolve();
  };
  try {
    await Promise.all(
      connections.map((connection) => connectForTheFirstTime(connection, FIRST_CONNECT_TIMEOUT_MS)),
    );
    await requireUsable(producer, kind);
  } catch (error) {
    await close();
    throw error instanceof UsageError ? error : unreachable(error as Error);
  }
  isOpen = true;
  // A worker waits for jobs on a duplicate of it. BullMQ gives up a lazy one whose first connection breaks, and never works then.
  consumer.options.lazyConnect = false;
  return {
    producer,
    consumer,
    prefix: keyPrefix(prefix),
    backend: undefined,
    check: async () => {
      // ioredis would only say that its stream isn't writeable.
      if (producer.status !== 'ready') throw new Error('there is no connection to Redis');
      await requireUsable(producer, kind);
      await probeWrites(producer, prefix);
    },
    close,
  };
}

/** Errors of Redis that are temporary. */
const TRANSIENT = /\b(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|ERR max number of clients)\b/;

function unreachable(error: Error): UsageError {
  const message = `Redis can't be reached (${error.message}). Set REDIS_URL to a running Redis, or leave it out to queue in PostgreSQL.`;
  const code = redisErrorCode(error);
  const isTransient = code === undefined || TRANSIENT.test(error.message);
  const maxWaitMs = isTransient ? Infinity : networkWaitMs(code);
  return maxWaitMs === undefined ? new UsageError(message) : new NotReadyError(message, 'queue', maxWaitMs);
}

/** Any other policy than noeviction evicts jobs when memory runs out. */
async function requireUsable(connection: RedisClient, kind: RedisAddress['kind']): Promise<void> {
  const { primaries, modeProblem, maxmemoryPolicy = 'noeviction' } = await readRedisFacts(connection, kind);
  if (primaries === 0) throw new Error('no primary of the Redis Cluster is known');
  if (modeProblem !== undefined) throw new UsageError(modeProblem);
  if (maxmemoryPolicy !== 'noeviction') {
    throw new UsageError(
      `Redis would throw jobs away when its memory is full: set its maxmemory-policy to noeviction (it is ${maxmemoryPolicy}).`,
    );
  }
}
