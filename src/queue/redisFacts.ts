import type { RedisAddress } from '../config/redisAddress.js';
import { primariesOf, type RedisClient } from './redisClient.js';

const PROBE_SECONDS = 60;

/** What the servers behind REDIS_URL report about themselves. */
export interface RedisFacts {
  /** Such as 7.2.4; in a cluster, that of the oldest primary. */
  readonly version: string;
  /** How many: one, unless it is a cluster. */
  readonly primaries: number;
  /** Undefined if the server doesn't report it. */
  readonly maxmemoryPolicy: string | undefined;
  /** Why it can't serve as the queue in the mode it runs in. */
  readonly modeProblem: string | undefined;
}

/** From INFO, which works even where managed Redis forbids CONFIG. */
export async function readRedisFacts(client: RedisClient, kind: RedisAddress['kind']): Promise<RedisFacts> {
  const infos = await Promise.all(primariesOf(client).map((primary) => primary.info()));
  const reported = (name: string): string[] =>
    infos.flatMap((info) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? []);
  const policies = reported('maxmemory_policy');
  return {
    version: reported('redis_version').sort(byVersion)[0] ?? 'of unknown version',
    primaries: infos.length,
    maxmemoryPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0],
    modeProblem: modeProblem(kind, reported('redis_mode')[0]),
  };
}

/** Rejects if Redis reads but refuses to write or to run scripts: its memory is full, it is a replica, it can't save, an ACL. */
export async function probeWrites(client: RedisClient, prefix: string): Promise<void> {
  const key = `${keyPrefix(prefix)}:probe`;
  await Promise.all([client.set(key, '', 'EX', PROBE_SECONDS), client.eval('return 1', 1, key)]);
}

/** The hash tag keeps all keys of the queue on one cluster node. */
export function keyPrefix(prefix: string): string {
  return `{${prefix}}`;
}

function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

function modeProblem(kind: RedisAddress['kind'], mode: string | undefined): string | undefined {
  if (mode === 'sentinel') {
    return 'REDIS_URL leads to a Redis Sentinel, which keeps no jobs. Write redis+sentinel://host:26379/name for the primary that it watches under that name.';
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    return 'REDIS_URL leads to a node of a Redis Cluster, which keeps a part of the keys. Write redis+cluster://host:6379 for the whole of it.';
  }
  return undefined;
}
