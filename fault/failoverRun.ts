import { reportFailovers, type FailoverRow } from './failover/report.js';
import {
  REDIS_WAYS,
  redisWaysOf,
  strikeFailover,
  strikeRedis,
  WAYS,
  type Failover,
  type Way,
} from './failover/strike.js';
import { runChecked, type RunResult } from './checkedRun.js';
import type { Backend } from './markers.js';
import type { RedisKind } from './rig/rig.js';

export interface FailoverOptions {
  readonly backend: Backend;
  /** How many failovers. */
  readonly kills: number;
  /** In turn; all by default. Not of Redis, which has ways of its own. */
  readonly ways?: readonly Way[];
  /** Anything but one server: its primary is replaced instead of PostgreSQL's. */
  readonly redis?: RedisKind;
  /** No failover starts after this many minutes. */
  readonly minutes: number | undefined;
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

const SHOPS = 3;
/** So that some emails are always in flight. */
const PROVIDER_MS = 100;

/** Repeatedly removes the primary of PostgreSQL, or of Redis, under load; each time a standby takes over. */
export function runFailovers({
  kills,
  minutes,
  ways = WAYS,
  redis = 'server',
  ...options
}: FailoverOptions): Promise<RunResult<FailoverRow>> {
  const isRedis = redis !== 'server' && options.backend === 'redis';
  const redisWays = redisWaysOf(redis);
  return runChecked({
    ...options,
    shops: SHOPS,
    strength: { web: 1, relay: 1, worker: 2 },
    redis,
    ...(isRedis ? {} : { replicated: true }),
    async disturb(rig) {
      const slow = { kind: 'slow', ms: PROVIDER_MS } as const;
      await rig.carrier.behave(Object.fromEntries(rig.shops.map(({ apiKey }) => [apiKey, slow])));
      const failovers: Failover[] = [];
      const untilMs = Date.now() + (minutes ?? Infinity) * 60_000;
      for (let turn = 0; turn < kills && Date.now() < untilMs; turn++) {
        const failover = isRedis
          ? await strikeRedis(rig, redisWays[turn % redisWays.length] ?? 'Redis killed')
          : await strikeFailover(rig, ways[turn % ways.length] ?? 'killed');
        failovers.push(failover);
        const { way, writesMs, emailsMs, recoveryMs } = failover;
        const of = (ms: number | undefined): string => (ms === undefined ? 'never' : `${ms} ms`);
        options.say(
          `  ${turn + 1}: ${way}; after the promotion writes ${of(writesMs)}, emails ${of(emailsMs)}, all ${of(recoveryMs)}`,
        );
      }
      return (accounts, duplicates) =>
        reportFailovers(rig, [...WAYS, ...REDIS_WAYS], failovers, accounts, duplicates);
    },
  });
}
