import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../test/support/waitFor.js';
import { untilConfirmed } from '../faults/recover.js';
import type { RedisKind, Rig } from '../rig/rig.js';

/** How the primary is lost, or handed over. */
export const WAYS = ['killed', 'stopped', 'switched over'] as const;
export type Way = (typeof WAYS)[number];
/** How the primary of Redis is lost. Its replica lacks what was not copied yet. */
export const REDIS_WAYS = ['Redis killed', 'Redis stopped', 'slot moved'] as const;
export type RedisWay = (typeof REDIS_WAYS)[number];

/** A slot is moved in a cluster only. */
export const redisWaysOf = (kind: RedisKind): readonly RedisWay[] =>
  REDIS_WAYS.filter((way) => way !== 'slot moved' || kind === 'cluster');
export interface Failover {
  /** How it was lost. */
  readonly way: string;
  /** When the server was lost, and when another had taken over. */
  readonly lostAtMs: number;
  readonly promotedAtMs: number;
  /** From the promotion to the next acknowledged order, and to the next email accepted; undefined when none came. */
  readonly writesMs: number | undefined;
  readonly emailsMs: number | undefined;
  /** From the promotion until every earlier order is confirmed; undefined on timeout. */
  readonly recoveryMs: number | undefined;
}

/** Time without a primary, as while a cluster manager detects the failure. */
const VACANT_MS = 1_500;
const LIVE_MS = 1_500;
const MAX_MS = 30_000;
const ASK_MS = 20;

/** Removes the primary under load, promotes the standby, and gives it a new standby. */
export async function strikeFailover(rig: Rig, way: Way): Promise<Failover> {
  const { replicated } = rig;
  if (!replicated) throw new Error('there is no standby');
  if (!replicated.standby) await replicated.addStandby();
  await delay(LIVE_MS + Math.random() * 500);
  const lostAtMs = Date.now();
  if (way === 'killed') await replicated.stopPrimary('SIGQUIT');
  else if (way === 'stopped') await replicated.pausePrimary();
  else await handOver(rig);
  if (way !== 'switched over') await delay(Math.random() * VACANT_MS);
  await replicated.promote();
  return measure(rig, way, lostAtMs, async () => {
    if (way !== 'stopped') return;
    await replicated.resumeOld();
    await delay(LIVE_MS);
  });
}

/** Removes the primary of Redis under load, whose place Sentinels or the cluster give to another; or moves the queue away from it. */
export async function strikeRedis(rig: Rig, way: RedisWay): Promise<Failover> {
  const { redisTopology } = rig;
  if (!redisTopology) throw new Error('there is one Redis alone');
  await delay(LIVE_MS + Math.random() * 500);
  const lostAtMs = Date.now();
  if (way === 'slot moved') {
    await redisTopology.moveQueue?.();
    return measure(rig, way, lostAtMs, () => Promise.resolve());
  }
  await redisTopology.killPrimary(way === 'Redis killed' ? 'SIGKILL' : 'SIGSTOP');
  return measure(rig, way, lostAtMs, () => redisTopology.restoreKilled());
}

/** Called when another server has taken over. @param restore brings back what was lost, as a standby */
export async function measure(
  rig: Rig,
  way: string,
  lostAtMs: number,
  restore: () => Promise<void>,
): Promise<Failover> {
  const promotedAtMs = Date.now();
  const [writesMs, emailsMs] = await Promise.all([
    firstAfter(promotedAtMs, () => rig.load.acknowledgedWithin(Date.now() - promotedAtMs).length > 0),
    firstAfter(promotedAtMs, async () => {
      await rig.carrier.refresh();
      return rig.carrier.entries.some(
        ({ accepted, receivedAtMs }) => accepted && receivedAtMs > promotedAtMs,
      );
    }),
  ]);
  await restore();
  // The ledger's reader may still have connections to the server that was lost: they break, and it asks the other.
  const committed = await waitFor('a response of the new primary', () => committedOrders(rig, promotedAtMs), {
    timeoutMs: MAX_MS,
    intervalMs: ASK_MS,
  });
  const recoveryMs = await untilConfirmed(rig, committed);
  rig.spans.push({ fault: way, fromMs: lostAtMs, toMs: Date.now(), losesResponses: true });
  return {
    way,
    lostAtMs,
    promotedAtMs,
    writesMs,
    emailsMs,
    recoveryMs: recoveryMs === undefined ? undefined : Date.now() - promotedAtMs,
  };
}

/** The switchover of docs/how-to/high-availability.md: stop changes, wait until the standby has all of them, stop the primary. */
async function handOver({ replicated, ledger }: Rig): Promise<void> {
  if (!replicated) return;
  await replicated.configure('default_transaction_read_only', 'on');
  await firstAfter(Date.now(), async () => {
    const [row] = await ledger.query<{ done: boolean }>(
      `select not exists (select from pg_stat_activity where backend_xid is not null)
         and bool_and(flush_lsn >= pg_current_wal_lsn()) as done
       from pg_stat_get_wal_senders() where state = 'streaming'`,
    );
    return row?.done === true;
  });
  await replicated.stopPrimary('SIGINT');
}

async function firstAfter(
  startedAtMs: number,
  probe: () => boolean | Promise<boolean>,
): Promise<number | undefined> {
  while (Date.now() - startedAtMs < MAX_MS) {
    if (await probe()) return Date.now() - startedAtMs;
    await delay(ASK_MS);
  }
  return undefined;
}

async function committedOrders({ ledger, load, shops }: Rig, beforeMs: number) {
  const committed = new Set<number>();
  for (const shop of shops) for (const id of await ledger.committedOrders(shop)) committed.add(id);
  return [...load.orders.values()].filter(
    ({ orderId, acknowledgedAtMs }) => committed.has(orderId) && (acknowledgedAtMs ?? 0) < beforeMs,
  );
}
