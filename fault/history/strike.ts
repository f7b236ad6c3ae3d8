import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../../test/support/waitFor.js';
import { untilConfirmed } from '../faults/recover.js';
import type { Part } from '../rig/member.js';
import type { Rig } from '../rig/rig.js';
import type { LostTime } from '../rig/timeMachine.js';

/** How PostgreSQL returns to an earlier state. */
export const WAYS = ['restored', 'promoted'] as const;
export type Way = (typeof WAYS)[number];

/** What happens next, before the processes have settled. */
export const AFTERMATHS = [
  'nothing',
  'queue wiped',
  'connections cut',
  'one of each killed',
  'all restarted',
] as const;
export type Aftermath = (typeof AFTERMATHS)[number];

export interface HistoryStrike {
  readonly way: Way;
  readonly aftermath: Aftermath;
  readonly lost: LostTime;
  /** How far PostgreSQL went back: what was committed since then is gone. */
  readonly backMs: number;
  /** Until the emails of all surviving orders were accepted by the carrier; undefined on timeout. */
  readonly recoveryMs: number | undefined;
}

/** Takes a backup, lets the load continue for a while, and makes PostgreSQL go back to it or to a later moment. */
export async function strikeHistory(
  rig: Rig,
  { way, aftermath, backMs }: { readonly way: Way; readonly aftermath: Aftermath; readonly backMs: number },
): Promise<HistoryStrike> {
  const { timeMachine, spans } = rig;
  // Strikes work in flight: a process that starts while PostgreSQL is down waits.
  await rig.fleet.atStrength();
  await delay(LIVE_MS);
  if (way === 'restored') await burst(rig);
  const backup = await timeMachine.backUp();
  if (way === 'promoted') await burst(rig);
  await delay(backMs);
  const struckAtMs = Date.now();
  // Point-in-time recovery needs a commit after its target, flushed: a transaction that only took an id isn't.
  await rig.ledger.query(`select pg_logical_emit_message(true, 'fault harness', 'after the target')`);
  const lost = await (way === 'restored' ? timeMachine.restore(backup) : timeMachine.promote(backup, backMs));
  spans.push({ fault: way, fromMs: lost.fromMs, toMs: Date.now(), losesResponses: true });
  await follow(rig, aftermath);
  await untilWritable(rig);
  const recoveryMs = await untilConfirmed(rig, await survivors(rig));
  // Their emails may have been accepted in the lost time, so this may come before the processes that restart are back.
  await rig.fleet.atStrength();
  lost.recoveredAtMs = Date.now();
  return { way, aftermath, lost, backMs: struckAtMs - lost.fromMs, recoveryMs };
}

const PROMOTION_MS = 60_000;

/** A server that is being promoted responds as a standby until it has read its log. */
async function untilWritable({ ledger }: Rig): Promise<void> {
  await waitFor('PostgreSQL to accept writes', () => ledger.query('select pg_current_xact_id()'), {
    timeoutMs: PROMOTION_MS,
  });
}

/** Commits until then survive. */
const LIVE_MS = 2_000;
const BURST = 15;
/** About the length of a burst; PostgreSQL goes back to a random moment in it. */
const BURST_MS = 400;

/** So that much work is in flight at that moment. */
async function burst({ load }: Rig): Promise<void> {
  for (let placed = 0; placed < BURST; placed++) load.placeOrder();
  await delay(Math.random() * BURST_MS);
}

const CUT_MS = 4_000;
const CUT_EVERY_MS = 300;

async function follow(rig: Rig, aftermath: Aftermath): Promise<void> {
  const { fleet, queueStore } = rig;
  switch (aftermath) {
    case 'nothing':
      return;
    case 'queue wiped':
      // The queue may be in that PostgreSQL.
      await untilWritable(rig);
      return queueStore.wipe();
    case 'connections cut': {
      const untilMs = Date.now() + CUT_MS;
      while (Date.now() < untilMs) {
        for (const { links } of fleet.all) {
          links.postgres?.cut();
          links.redis?.cut();
        }
        await delay(CUT_EVERY_MS);
      }
      return;
    }
    case 'one of each killed':
      await Promise.all(PARTS.map(async (part) => kill(rig, part, aftermath)));
      return;
    case 'all restarted': {
      const all = fleet.all;
      for (const member of all)
        rig.strikes.push({ window: aftermath, member: member.name, atMs: Date.now() });
      await Promise.all(all.map((member) => fleet.kill(member)));
    }
  }
}

const PARTS: readonly Part[] = ['web', 'relay', 'worker'];

async function kill(rig: Rig, part: Part, window: string): Promise<void> {
  const member = await rig.fleet.take(part);
  rig.strikes.push({ window, member: member.name, atMs: Date.now() });
  await rig.fleet.kill(member);
}

/** Orders currently in PostgreSQL. */
async function survivors({ ledger, load, shops }: Rig) {
  const committed = new Set<number>();
  for (const shop of shops) for (const id of await ledger.committedOrders(shop)) committed.add(id);
  return [...load.orders.values()].filter(({ orderId }) => committed.has(orderId));
}
