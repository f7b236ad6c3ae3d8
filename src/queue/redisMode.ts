import type { RedisAddress } from './redisAddress.js';

/**
 * @param mode as reported by `INFO`
 * @returns why the server behind REDIS_URL can't be the queue; undefined if it can, or if it doesn't report its mode
 */
export function modeProblem(kind: RedisAddress['kind'], mode: string | undefined): string | undefined {
  if (mode === 'sentinel') {
    return 'REDIS_URL leads to a Redis Sentinel, which keeps no jobs. Write redis+sentinel://host:26379/name for the primary that it watches under that name.';
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    return 'REDIS_URL leads to a node of a Redis Cluster, which keeps a part of the keys. Write redis+cluster://host:6379 for the whole of it.';
  }
  return undefined;
}
