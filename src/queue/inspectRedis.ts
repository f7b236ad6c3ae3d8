import { Redis } from 'ioredis';
import { modeProblem } from './redisMode.js';

export interface RedisFacts {
  /** E.g. 7.2.4. */
  readonly version: string;
  /** Undefined where the server doesn't report it. */
  readonly maxmemoryPolicy: string | undefined;
  readonly roundTripMs: number;
  /** Why it can't be the queue in the mode that it runs in. */
  readonly modeProblem: string | undefined;
}

const TIMEOUT_MS = 5_000;

/** Rejects when Redis doesn't answer within `TIMEOUT_MS`. */
export async function inspectRedis(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // connect() rejects with "Connection is closed."; the cause is only emitted here.
  let reason: Error | undefined;
  redis.on('error', (error: Error) => (reason = error));
  try {
    await redis.connect();
    const startedAt = performance.now();
    const info = await redis.info();
    return {
      version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version',
      maxmemoryPolicy: /^maxmemory_policy:(\S+)/m.exec(info)?.[1],
      modeProblem: modeProblem(/^redis_mode:(\S+)/m.exec(info)?.[1]),
      roundTripMs: performance.now() - startedAt,
    };
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
