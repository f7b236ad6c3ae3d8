import { parseRedisUrl } from './redisAddress.js';
import { connectForTheFirstTime, createRedisClient, primariesOf } from './redisClient.js';
import { modeProblem } from './redisMode.js';

export interface RedisFacts {
  /** Such as 7.2.4; in a cluster, that of the oldest primary. */
  readonly version: string;
  /** How many: one, unless it is a cluster. */
  readonly primaries: number;
  /** Undefined if the server doesn't report it. */
  readonly maxmemoryPolicy: string | undefined;
  readonly roundTripMs: number;
  /** Why it can't serve as the queue in the mode it runs in. */
  readonly modeProblem: string | undefined;
}

const TIMEOUT_MS = 5_000;

/** Rejects when Redis doesn't answer within `TIMEOUT_MS`. */
export async function inspectRedis(url: string): Promise<RedisFacts> {
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
    const infos = await Promise.all(primariesOf(redis).map((primary) => primary.info()));
    const roundTripMs = performance.now() - startedAt;
    const { kind } = parseRedisUrl(url);
    const told = (name: string): string[] =>
      infos.flatMap((info) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? []);
    const policies = told('maxmemory_policy');
    return {
      version: told('redis_version').sort(byVersion)[0] ?? 'of unknown version',
      primaries: infos.length,
      maxmemoryPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0],
      modeProblem: modeProblem(kind, told('redis_mode')[0]),
      roundTripMs,
    };
  } finally {
    redis.disconnect();
  }
}

function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
