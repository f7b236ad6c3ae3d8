import type { Strike } from '../rig/strikes.js';
import type { Accounts } from './accounts.js';
import { struckDeliveries } from './struck.js';

/**
 * How long after the strike each of its deliveries was accepted by the provider, or ended without that, in
 * milliseconds. Those that had ended before are left out.
 */
export function recoveriesMs(strike: Strike, accounts: Accounts): readonly number[] {
  return struckDeliveries(strike, accounts).flatMap((deliveryid) => {
    const settled = settledAfter(deliveryid, strike.atMs, accounts);
    return settled === undefined ? [] : [settled - strike.atMs];
  });
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
