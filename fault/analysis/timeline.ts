import type { Rig } from '../rig/rig.js';
import type { Accounts } from './accounts.js';
import type { Recovery } from './recovery.js';
import { struckDeliveries } from './struck.js';

/** The history of a struck delivery, oldest first, in milliseconds after the strike. */
export interface Timeline extends Recovery {
  readonly events: readonly string[];
}

export function timelineOf(recovery: Recovery, rig: Rig, accounts: Accounts): Timeline {
  const { deliveryid, fromMs } = recovery;
  const events: [number, string][] = [];
  for (const { window, member, atMs, beside, ...struck } of rig.strikes) {
    if (struckDeliveries(struck, accounts).includes(deliveryid))
      events.push([atMs, `${window} on ${member}`]);
    else if (struckDeliveries(beside ?? {}, accounts).includes(deliveryid))
      events.push([atMs, `${window} on ${member}, which had it in hand`]);
  }
  for (const { by, atMs } of rig.calls.loadsOf(deliveryid)) events.push([atMs, `${by} takes it in hand`]);
  for (const { by, sentAtMs } of rig.calls.of(deliveryid)) events.push([sentAtMs, `${by} calls the carrier`]);
  for (const { attempt, startedAtMs, finishedAtMs, outcome } of accounts.attempts.get(deliveryid) ?? []) {
    events.push([startedAtMs, `attempt ${attempt} starts`], [finishedAtMs, `attempt ${attempt}: ${outcome}`]);
  }
  for (const { receivedAtMs } of accounts.accepted.get(deliveryid) ?? [])
    events.push([receivedAtMs, 'accepted']);
  events.sort(([a], [b]) => a - b);
  return { ...recovery, events: events.map(([atMs, what]) => `${Math.round(atMs - fromMs)} ${what}`) };
}
