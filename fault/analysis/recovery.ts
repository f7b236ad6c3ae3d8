import type { Rig } from '../rig/rig.js';
import type { Strike } from '../rig/strikes.js';
import type { Accounts } from './accounts.js';
import { struckDeliveries } from './struck.js';

/** What one delivery needed after a strike, in milliseconds. */
export interface Recovery {
  readonly deliveryid: string;
  /** When it lost its process, in milliseconds since the epoch. */
  readonly fromMs: number;
  /**
   * Until it progressed: accepted by the carrier, finished otherwise, or taken by another process, as the next
   * strike on that one shows. The next strike's recovery counts from its own time.
   */
  readonly movedMs: number;
  /** Until accepted by the carrier or finished, however often it was struck in between. */
  readonly settledMs: number;
}

/** When each delivery was in a request of a process that was struck, oldest first, by delivery id. */
export type CaughtAt = ReadonlyMap<string, readonly number[]>;

/** Strikes whose process was about to handle the delivery, rather than to create it. */
export function caughtAt(strikes: readonly Strike[], accounts: Accounts): CaughtAt {
  const times = new Map<string, number[]>();
  for (const { deliveryids, batchids, atMs, window } of strikes) {
    // Work in flight during a random strike may date from before the previous strike.
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

/** The strikes, and which process had what in flight. */
export type Struck = Pick<Rig, 'strikes' | 'calls'>;

/** The strike's deliveries that had not finished before it. */
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
    // It may have taken some from the queue before handling the signal.
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

/** When the delivery was taken by a process that was itself struck, or stopping, before it finished. */
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

/** PostgreSQL's now() is the start of the statement. */
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

/** The quantile of the values; undefined if there are none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
