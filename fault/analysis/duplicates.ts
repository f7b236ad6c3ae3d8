import type { Span, Strike } from '../rig/strikes.js';
import { WINDOWS_WITH_DUPLICATES } from '../windows/index.js';
import type { Accounts } from './accounts.js';
import { struckDeliveries } from './struck.js';

/** A mail that the provider has taken once more. */
export interface Duplicate {
  readonly deliveryid: string;
  /** Whether the ledger holds an ambiguous attempt for it. */
  readonly accounted: boolean;
  /** The window of the strike between the two mails, or the fault in whose time they lie; undefined when there is none. */
  readonly window: string | undefined;
  /** Whether an answer may have been lost there. */
  readonly explained: boolean;
}

/** The provider's clock and ours are the same one, read at different moments. */
const CLOCK_MS = 50;
/** What was in hand when a fault ended may have met it still. */
const AFTERMATH_MS = 2_000;

export function findDuplicates(
  accounts: Accounts,
  strikes: readonly Strike[],
  spans: readonly Span[] = [],
): readonly Duplicate[] {
  const strikesOn = new Map<string, { atMs: number; window: string }[]>();
  const note = (deliveryid: string, atMs: number, window: string): void => {
    const known = strikesOn.get(deliveryid);
    if (known) known.push({ atMs, window });
    else strikesOn.set(deliveryid, [{ atMs, window }]);
  };
  for (const strike of strikes) {
    for (const id of struckDeliveries(strike, accounts)) note(id, strike.atMs, strike.window);
    // With the provider while their process was struck: that is W8, whatever struck it.
    for (const id of strike.beside ?? []) note(id, strike.atMs, 'W8');
  }
  const duplicates: Duplicate[] = [];
  for (const [deliveryid, mails] of accounts.accepted) {
    const ambiguous = (accounts.attempts.get(deliveryid) ?? []).filter(
      ({ outcome }) => outcome === 'ambiguous',
    );
    for (let extra = 1; extra < mails.length; extra++) {
      const from = (mails[extra - 1]?.receivedAtMs ?? 0) - CLOCK_MS;
      const to = mails[extra]?.receivedAtMs ?? 0;
      const between = strikesOn.get(deliveryid)?.find(({ atMs }) => atMs >= from && atMs <= to);
      const tenantid = accounts.deliveries.get(deliveryid)?.tenantid;
      const span = spans.find(
        ({ fromMs, toMs, tenantid: only }) =>
          from >= fromMs - CLOCK_MS &&
          from <= toMs + AFTERMATH_MS &&
          (only === undefined || only === tenantid),
      );
      duplicates.push({
        deliveryid,
        accounted: extra <= ambiguous.length,
        window: between?.window ?? span?.fault,
        explained: between ? WINDOWS_WITH_DUPLICATES.has(between.window) : span !== undefined,
      });
    }
  }
  return duplicates;
}
