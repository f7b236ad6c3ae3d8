import { Semaphore, withTimeout } from 'async-mutex';
import { AppError } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';

/** Maximum duration of a statement with a client's filter on control objects. */
export const CLIENT_FILTER_MS = 2_000;

/** Connections that sign-ins, loads of principals, and statements within a transaction always find free. */
const RESERVED = 2;
/** Of one tenant. */
const MAX_WAITING = 40;

/** Divides the service's connections among the tenants that list and change control objects: none gets more than half. */
export class ServiceQuota {
  readonly #ofTenant: TenantLimiter;
  readonly #ofAll;

  /** @param connections of the service's pool */
  constructor(connections: number, waitMs: number) {
    const shared = Math.max(1, connections - RESERVED);
    this.#ofTenant = new TenantLimiter({
      running: Math.max(1, Math.floor(shared / 2)),
      waiting: MAX_WAITING,
      waitMs,
    });
    const busy = new AppError('TOO_BUSY', 'Too many requests for control objects are in flight.');
    this.#ofAll = withTimeout(new Semaphore(shared), waitMs, busy);
  }

  /** Runs work that holds one connection of the service. Throws AppError TOO_BUSY. */
  run<T>(tenantid: number, work: () => Promise<T>): Promise<T> {
    return this.#ofTenant.run(tenantid, () => this.#ofAll.runExclusive(work));
  }
}
