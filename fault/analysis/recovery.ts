import type { Rig } from '../rig/rig.js';
import type { Strike } from '../rig/strikes.js';
import type { Accounts } from './accounts.js';
import { struckDeliveries } from './struck.js';

/** What one delivery needed after a strike, in milliseconds. */
export interface Recovery {
  readonly deliveryid: string;
  /** When the process was lost to it, in milliseconds since the epoch. */
  readonly fromMs: number;
  /**
   * Until it moved again: accepted by the provider, ended without that, or in the hands of another process, as the next
   * strike on it shows. That strike's recovery counts from its own time.
   */
  readonly movedMs: number;
  /** Until accepted by the provider, or ended, however often it was struck meanwhile. */
  readonly settledMs: number;
}

/** When each delivery was held in a request of some process, by which it was struck: by its id, oldest first. */
export type CaughtAt = ReadonlyMap<string, readonly number[]>;

/** Strikes that name a delivery because the process was about to do something for it, not because it was new. */
export function caughtAt(strikes: readonly Strike[], accounts: Accounts): CaughtAt {
  const times = new Map<string, number[]>();
  for (const { deliveryids, batchids, atMs, window } of strikes) {
    // What a process had in hand when it was struck at random may have been there before the strike before.
    if (window === 'random') continue;
    const caught = struckDeliveries(
      { ...(deliveryids && { deliveryids }), ...(batchids && { batchids }) },
      accounts,
    );
    for (const id of caught)
      times.set(
        id,
        [...(times.get(id) ?? []), atMs].sort((a, b) => a - b),
      );
  }
  return times;
}

/** What was done, and which process had what in hand. */
export type Struck = Pick<Rig, 'strikes' | 'calls'>;

/** Of the deliveries that a strike concerned, those that had not ended before. */
export function recoveries(
  strike: Strike,
  rig: Struck,
  caught: CaughtAt,
  accounts: Accounts,
): readonly Recovery[] {
  const fromMs = strike.lostAtMs ?? strike.atMs;
  const concerned = new Set([
    ...struckDeliveries(strike, accounts),
    ...struckDeliveries(strike.beside ?? {}, accounts),
    // Told to end, it may have taken some from the queue before it heard of it.
    ...rig.calls.loadedBy(strike.member, fromStrike(strike)),
  ]);
  return [...concerned].flatMap((deliveryid) => {
    const settledAtMs = settledAfter(deliveryid, fromMs, accounts);
    if (settledAtMs === undefined) return [];
    const again = Math.min(
      (caught.get(deliveryid) ?? []).find((atMs) => atMs > fromMs) ?? Infinity,
      loadedByStruck(rig, deliveryid, fromMs, settledAtMs),
    );
    return [
      { deliveryid, fromMs, movedMs: Math.min(settledAtMs, again) - fromMs, settledMs: settledAtMs - fromMs },
    ];
  });
}

const fromStrike = ({ atMs, lostAtMs = atMs }: Strike) => ({ fromMs: atMs, toMs: lostAtMs });

/** When a process took it in hand that was then struck itself, or on its way to its end, before it was done. */
function loadedByStruck(rig: Struck, deliveryid: string, fromMs: number, settledAtMs: number): number {
  const load = rig.calls
    .loadsOf(deliveryid)
    .find(
      ({ by, atMs }) =>
        atMs > fromMs &&
        rig.strikes.some(
          (next) => next.member === by && (next.overAtMs ?? next.atMs) >= atMs && next.atMs <= settledAtMs,
        ),
    );
  return load?.atMs ?? Infinity;
}

/** Times that PostgreSQL gives are those of a statement's begin. */
const CLOCK_MS = 50;

function settledAfter(deliveryid: string, atMs: number, accounts: Accounts): number | undefined {
  const attempts = accounts.attempts.get(deliveryid) ?? [];
  const endedBefore = attempts.some(
    ({ outcome, finishedAtMs }) => outcome === 'sent' && finishedAtMs < atMs + CLOCK_MS,
  );
  if (endedBefore) return undefined;
  const accepted = (accounts.accepted.get(deliveryid) ?? []).map(({ receivedAtMs }) => receivedAtMs);
  const after = accepted.filter((receivedAtMs) => receivedAtMs > atMs);
  const last = attempts.at(-1)?.finishedAtMs ?? Infinity;
  const settled = Math.min(...after, last > atMs ? last : Infinity);
  return settled === Infinity ? undefined : settled;
}

/** The value below which the share of all lies; undefined of none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
