import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from '../config/redisAddress.js';

/** Events of ioredis that carry the cause of a failure: in any client, from Sentinels, from a cluster's nodes. */
const CAUSES = ['error', 'sentinelError', 'node error'] as const;

/** ioredis has most codes only in the message: of Redis (`NOAUTH …`), and of the network, as Sentinels met it. */
const CODE = /\b[A-Z][A-Z_]{2,}\b/;
const TIMED_OUT = /time(d )?out/;

export type RedisClient = Redis | Cluster;

/**
 * Timeout for an outstanding reply: a server that hangs keeps its connections open while another takes its place. Longer
 * than the 10 s for which BullMQ waits for a job.
 */
const SILENCE_TIMEOUT_MS = 12_000;

export interface RedisClientOptions {
  readonly connectTimeoutMs: number;
  /** No timeout if undefined. */
  readonly commandTimeoutMs?: number;
  /** Whether commands wait until the connection is back; otherwise they fail at once. */
  readonly waitsForConnection: boolean;
  /** If undefined, a connection that breaks or can't be made is given up. */
  readonly reconnectMs?: number;
}

/** A client for `REDIS_URL`, not connected yet: of a server, of the primary that Sentinels name, or of a cluster. */
export function createRedisClient(url: string, options: RedisClientOptions): RedisClient {
  const address = parseRedisUrl(url);
  const retry = (): number | null => options.reconnectMs ?? null;
  const node = {
    connectTimeout: options.connectTimeoutMs,
    socketTimeout: SILENCE_TIMEOUT_MS,
    ...(options.commandTimeoutMs !== undefined && { commandTimeout: options.commandTimeoutMs }),
    maxRetriesPerRequest: options.waitsForConnection ? null : 0,
    // A primary that became a replica keeps its connections open; a new one leads to the new primary.
    reconnectOnError: (error) => error.message.includes('READONLY'),
  } satisfies RedisOptions;
  const own = { lazyConnect: true, enableOfflineQueue: options.waitsForConnection };
  if (address.kind === 'server') return new Redis(address.url, { ...node, ...own, retryStrategy: retry });

  const { hosts, isTls, username, password } = address;
  const access = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
  };
  if (address.kind === 'cluster') {
    return new Cluster([...hosts], {
      ...own,
      redisOptions: { ...node, ...access },
      clusterRetryStrategy: retry,
      slotsRefreshTimeout: options.connectTimeoutMs,
    });
  }
  return new Redis({
    ...node,
    ...own,
    ...access,
    retryStrategy: retry,
    sentinels: [...hosts],
    name: address.primaryName,
    db: address.database,
    ...(address.sentinelUsername !== undefined && { sentinelUsername: address.sentinelUsername }),
    ...(address.sentinelPassword !== undefined && { sentinelPassword: address.sentinelPassword }),
    enableTLSForSentinelMode: isTls,
    // Otherwise one that hangs would be waited for without end, while the others know the primary.
    sentinelCommandTimeout: options.connectTimeoutMs,
    // Not `failoverDetector`: when it fires while the client reconnects, ioredis ends the client for good.
    sentinelRetryStrategy: retry,
  });
}

/** Connects for the first time. Rejects with the cause if that fails or times out; the client may keep retrying. */
export async function connectForTheFirstTime(client: RedisClient, timeoutMs: number): Promise<void> {
  // connect() rejects without a cause: "Connection is closed.", "None of startup nodes is available". So does `error`, after
  // the failures of Sentinels or nodes.
  let reason: Error | undefined;
  let timer: NodeJS.Timeout | undefined;
  const keepReason = (error: Error): void => {
    reason ??= error;
  };
  const failed = new Promise<never>((_resolve, reject) => {
    client.once('error', reject);
    timer = setTimeout(() => reject(new Error(`ETIMEDOUT: no response within ${timeoutMs} ms`)), timeoutMs);
  });
  for (const event of CAUSES) client.on(event, keepReason);
  try {
    await Promise.race([client.connect(), failed]);
  } catch (error) {
    throw reason ?? error;
  } finally {
    clearTimeout(timer);
    for (const event of CAUSES) client.off(event, keepReason);
  }
}

/** The servers that hold data behind a client: the primaries of a cluster, or the one server. */
export function primariesOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}

/** Undefined if ioredis only knows that a connection has ended. */
export function redisErrorCode(error: unknown): string | undefined {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? (TIMED_OUT.test(message) ? 'ETIMEDOUT' : CODE.exec(message)?.[0]);
}
