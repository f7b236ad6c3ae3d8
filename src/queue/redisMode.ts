import type { RedisAddress } from './redisAddress.js';

/**
 * @param mode as `INFO` tells it
 * @returns why what REDIS_URL leads to can't be the queue; undefined when it can, or when the mode is not told
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
