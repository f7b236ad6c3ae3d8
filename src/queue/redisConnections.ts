import { Redis } from 'ioredis';
import { UsageError } from '../errors.js';
import type { Logger } from '../log.js';
import { networkWaitMs, NotReadyError } from '../startup.js';
import { modeProblem } from './redisMode.js';
import type { QueueConnections } from './connections.js';
import { logOutages } from './outageLog.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout for adding jobs, after which the relay keeps them and retries. */
const ADD_TIMEOUT_MS = 5_000;
const RECONNECT_MS = 250;

/** Throws UsageError when Redis can't be reached, or would evict jobs when its memory is full. */
export async function connectRedis(url: string, prefix: string, log: Logger): Promise<QueueConnections> {
  const shared = {
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => RECONNECT_MS,
    lazyConnect: true,
  };
  const producer = new Redis(url, {
    ...shared,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: ADD_TIMEOUT_MS,
  });
  const consumer = new Redis(url, { ...shared, maxRetriesPerRequest: null });
  const connections = [producer, consumer];
  for (const connection of connections) connection.on('error', logOutages(log, 'Redis'));
  const close = (): Promise<void> => {
    for (const connection of connections) connection.disconnect();
    return Promise.resolve();
  };
  try {
    await Promise.all(connections.map((connection) => connectOnce(connection)));
    await requireStandalone(producer);
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
    check: () => requireNoEviction(producer),
    close,
  };
}

async function connectOnce(connection: Redis): Promise<void> {
  let reason: Error | undefined;
  const keepReason = (error: Error): void => {
    reason = error;
  };
  connection.on('error', keepReason);
  try {
    await connection.connect();
  } catch (error) {
    const cause = reason ?? (error as Error);
    const says = `Redis can't be reached (${cause.message}). Set REDIS_URL to a running Redis, or leave it out to queue in PostgreSQL.`;
    const maxWaitMs = networkWaitMs((cause as { code?: string }).code ?? '');
    throw maxWaitMs === undefined ? new UsageError(says) : new NotReadyError(says, 'queue', maxWaitMs);
  } finally {
    connection.off('error', keepReason);
  }
}

async function requireStandalone(connection: Redis): Promise<void> {
  const problem = modeProblem(/^redis_mode:(\S+)/m.exec(await connection.info('server'))?.[1]);
  if (problem !== undefined) throw new UsageError(problem);
}

/** Any other policy evicts jobs when memory runs out. INFO works even where managed Redis forbids CONFIG. */
async function requireNoEviction(connection: Redis): Promise<void> {
  const info = await connection.info('memory');
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    throw new UsageError(
      `Redis would throw jobs away when its memory is full: set its maxmemory-policy to noeviction (it is ${policy}).`,
    );
  }
}
