import type { Database } from '../../db/pool/database.js';
import { extendObjectLeases } from '../../db/files/uploads.js';
import { AppError } from '../../foundation/errors.js';
import type { Logger } from '../../foundation/observability/log.js';
import { pollEvery } from '../../foundation/lifecycle/pollEvery.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';

/** How long after its process's last heartbeat an object counts as abandoned. */
export const OBJECT_LEASE_MS = 60_000;

/** Keeps the sweeper off the objects that this process is writing. */
export interface ObjectLeases extends Stoppable {
  /** @returns a signal that aborts the write once the lease may have expired; call `release` at the end */
  hold(objectkey: string): { readonly signal: AbortSignal; release(): void };
}

interface Held {
  readonly lost: AbortController;
  /** Monotonic clock, which keeps running while the process is stopped. */
  untilMs: number;
}

export function createObjectLeases({ pool }: Pick<Database, 'pool'>, log: Logger): ObjectLeases {
  const held = new Map<string, Held>();
  const renew = async (): Promise<void> => {
    if (held.size === 0) return;
    const requestedAtMs = performance.now();
    const objectkeys = [...held.keys()];
    const kept = new Set(await extendObjectLeases(pool, objectkeys, OBJECT_LEASE_MS));
    for (const key of objectkeys) {
      const lease = held.get(key);
      if (lease && kept.has(key)) lease.untilMs = requestedAtMs + OBJECT_LEASE_MS;
      else if (lease) lose(lease);
    }
  };
  const endLost = (): void => {
    for (const lease of held.values()) if (performance.now() >= lease.untilMs) lose(lease);
  };
  const renewing = pollEvery(OBJECT_LEASE_MS / 4, () =>
    renew()
      .catch((error: unknown) =>
        log.warn({ err: error }, 'the leases of uploads in flight could not be extended'),
      )
      .finally(endLost),
  );

  return {
    hold(objectkey) {
      const lease = { lost: new AbortController(), untilMs: performance.now() + OBJECT_LEASE_MS };
      held.set(objectkey, lease);
      return { signal: lease.lost.signal, release: () => held.delete(objectkey) };
    },
    stop: () => renewing.stop(),
  };
}

function lose(lease: Held): void {
  lease.lost.abort(new AppError('FILE_URL_EXPIRED', 'The upload took too long.'));
}
