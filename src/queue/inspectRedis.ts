import { parseRedisUrl } from './redisAddress.js';
import { connectForTheFirstTime, createRedisClient } from './redisClient.js';
import { readRedisFacts, type RedisFacts } from './redisFacts.js';

const TIMEOUT_MS = 5_000;

/** Rejects when Redis doesn't answer within `TIMEOUT_MS`. */
export async function inspectRedis(url: string): Promise<RedisFacts & { readonly roundTripMs: number }> {
  const redis = createRedisClient(url, {
    connectTimeoutMs: TIMEOUT_MS,
    commandTimeoutMs: TIMEOUT_MS,
    waitsForConnection: false,
  });
  // Without a listener, a later error would end the process.
  redis.on('error', () => undefined);
  try {
    await connectForTheFirstTime(redis, TIMEOUT_MS);
    const startedAt = performance.now();
    const facts = await readRedisFacts(redis, parseRedisUrl(url).kind);
    return { ...facts, roundTripMs: performance.now() - startedAt };
  } finally {
    redis.disconnect();
  }
}
