import { Redis } from 'ioredis';

/** What a Redis says of itself. */
export interface RedisFacts {
  /** As 7.2.4. */
  readonly version: string;
  /** What happens when its memory is full; undefined where it doesn't tell. */
  readonly maxmemoryPolicy: string | undefined;
  readonly roundTripMs: number;
}

const TIMEOUT_MS = 5_000;

/** Asks a Redis what it is. Rejects when it does not answer within some seconds. */
export async function inspectRedis(url: string): Promise<RedisFacts> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // Connecting rejects with "Connection is closed." and says here why.
  let reason: Error | undefined;
  redis.on('error', (error: Error) => (reason = error));
  try {
    await redis.connect();
    const startedAt = performance.now();
    const info = await redis.info();
    return {
      version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of unknown version',
      maxmemoryPolicy: /^maxmemory_policy:(\S+)/m.exec(info)?.[1],
      roundTripMs: performance.now() - startedAt,
    };
  } catch (error) {
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}
