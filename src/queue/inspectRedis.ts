import { parseRedisUrl } from '../config/redisAddress.js';
import { connectForTheFirstTime, createRedisClient } from './redisClient.js';
import { probeWrites, readRedisFacts, type RedisFacts } from './redisFacts.js';

const TIMEOUT_MS = 5_000;
/** Sentinels and nodes of a cluster are tried one after another. */
const CONNECT_TIMEOUT_MS = 2 * TIMEOUT_MS;

interface Inspection extends RedisFacts {
  readonly roundTripMs: number;
  /** Redis's error, if it refuses to write. */
  readonly refusal: unknown;
}

/** Rejects when Redis is not responding in time. */
export async function inspectRedis(url: string, prefix: string): Promise<Inspection> {
  const redis = createRedisClient(url, {
    connectTimeoutMs: TIMEOUT_MS,
    commandTimeoutMs: TIMEOUT_MS,
    waitsForConnection: false,
  });
  // Without a listener, a later error would end the process.
  redis.on('error', () => undefined);
  try {
    await connectForTheFirstTime(redis, CONNECT_TIMEOUT_MS);
    const startedAt = performance.now();
    const facts = await readRedisFacts(redis, parseRedisUrl(url).kind);
    const roundTripMs = performance.now() - startedAt;
    const refusal = await probeWrites(redis, prefix).catch((error: unknown) => error);
    return { ...facts, roundTripMs, refusal };
  } finally {
    redis.disconnect();
  }
}
