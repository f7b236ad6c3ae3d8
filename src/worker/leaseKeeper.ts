import { renewLeases, type AttemptInHand } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import type { Logger } from '../log.js';
import type { Stoppable } from '../shutdown.js';

/** A lease on a delivery, held while its mail is being sent. */
export interface Lease {
  /** Whether the delivery is surely still ours. Counted by the monotonic clock, which also runs while we are stopped. */
  isHeld(): boolean;
  release(): void;
}

/** Renews the leases of attempts that take longer than most. */
export interface LeaseKeeper extends Stoppable {
  /** @param askedAtMs `performance.now()` from before the lease was asked for: it can't end earlier than we think */
  hold(attempt: AttemptInHand, askedAtMs: number): Lease;
}

/** Of the lease's length: what two clocks may differ by, and the way of a request to the provider. */
const MARGIN = 0.2;

export function createLeaseKeeper(ledger: Ledger, leaseMs: number, log: Logger): LeaseKeeper {
  const held = new Map<AttemptInHand, { untilMs: number }>();
  const usableMs = leaseMs * (1 - MARGIN);

  const renew = async (): Promise<void> => {
    const now = performance.now();
    const aging = [...held].filter(([, lease]) => lease.untilMs - now < usableMs * (2 / 3));
    if (aging.length === 0) return;
    const renewed = await renewLeases(
      ledger,
      aging.map(([attempt]) => attempt),
      leaseMs,
    );
    aging.forEach(([, lease], index) => {
      lease.untilMs = renewed[index] === true ? now + usableMs : -Infinity;
    });
  };
  let renewing: Promise<void> | undefined;
  const timer = setInterval(() => {
    renewing ??= renew()
      .catch((error: unknown) => log.warn({ err: error }, 'leases could not be renewed'))
      .finally(() => {
        renewing = undefined;
      });
  }, leaseMs / 6);

  return {
    hold(attempt, askedAtMs) {
      const lease = { untilMs: askedAtMs + usableMs };
      held.set(attempt, lease);
      return {
        isHeld: () => performance.now() < lease.untilMs,
        release: () => held.delete(attempt),
      };
    },
    async stop() {
      clearInterval(timer);
      await renewing;
    },
  };
}
