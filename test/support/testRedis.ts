import { startRedis, type RedisServer } from './redisServer.js';
import { atEndOfRun } from './teardown.js';

let server: Promise<RedisServer> | undefined;
let lastDatabase = 0;

/**
 * URL of an empty Redis database of its own (a number on the one server of this run, started when first asked for).
 * A test that stops or wipes Redis takes `startRedis` instead.
 */
export async function createTestRedis(): Promise<string> {
  server ??= startForRun();
  return `${(await server).url}/${++lastDatabase}`;
}

async function startForRun(): Promise<RedisServer> {
  const redis = await startRedis();
  atEndOfRun(() => redis.stop());
  return redis;
}
