import { renewLeases, type InFlightAttempt } from '../db/delivery/leases.js';
import type { Ledger } from '../db/connection/ledger.js';
import type { Logger } from '../log.js';
import type { Stoppable } from '../shutdown.js';

/** A lease on a delivery, held while its mail is being sent. */
export interface Lease {
  /** Whether the lease is certain to be still ours. Uses the monotonic clock, which keeps running while the process is stopped. */
  isHeld(): boolean;
  release(): void;
}

/** Renews the leases of slow attempts. */
export interface LeaseKeeper extends Stoppable {
  /** @param askedAtMs `performance.now()` from before the lease was requested, so that we never overestimate its end */
  hold(attempt: InFlightAttempt, askedAtMs: number): Lease;
}

/** Fraction of the lease reserved for clock drift and the time a request takes to reach the provider. */
const CLOCK_MARGIN = 0.2;

export function createLeaseKeeper(ledger: Ledger, leaseMs: number, log: Logger): LeaseKeeper {
  const held = new Map<InFlightAttempt, { untilMs: number }>();
  const usableMs = leaseMs * (1 - CLOCK_MARGIN);

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
