/** @param mode as `INFO` tells it @returns why REDIS_URL can't be the queue in this mode; undefined when it can, or is not told */
export function modeProblem(mode: string | undefined): string | undefined {
  if (mode === 'cluster') {
    return 'REDIS_URL leads to a node of a Redis Cluster, which answers MOVED for what other nodes keep. Take a Redis that is no cluster, or leave REDIS_URL out to queue in PostgreSQL.';
  }
  if (mode === 'sentinel') {
    return 'REDIS_URL leads to a Redis Sentinel, which keeps no jobs. Take the address of the Redis that it watches.';
  }
  return undefined;
}
