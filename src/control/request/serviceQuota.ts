import { AppError } from '../../foundation/errors.js';
import { FairMemory } from '../../foundation/limits/fairMemory.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';

/** Maximum duration of a statement with a client's filter on control objects. */
export const CLIENT_FILTER_MS = 2_000;

/** Connections that sign-ins, loads of principals, and statements within a transaction always find free. */
const RESERVED = 2;
/** Of one tenant. */
const MAX_WAITING = 40;

/** Divides the service's connections among the tenants that list and change control objects: half for one, a third each for two. */
export class ServiceQuota {
  readonly #ofTenant: TenantLimiter;
  /** Counts connections, not bytes. */
  readonly #ofAll: FairMemory;

  /** @param connections of the service's pool */
  constructor(
    connections: number,
    private readonly waitMs: number,
  ) {
    const shared = Math.max(1, connections - RESERVED);
    this.#ofTenant = new TenantLimiter({
      running: Math.max(1, Math.floor(shared / 2)),
      waiting: MAX_WAITING,
      waitMs,
    });
    this.#ofAll = new FairMemory(shared);
  }

  /** Runs work that holds one connection of the service. Throws AppError TOO_BUSY. */
  run<T>(tenantid: number, work: () => Promise<T>): Promise<T> {
    return this.#ofTenant.run(tenantid, () => this.#inTime(tenantid, work));
  }

  /** What has waited too long gives its turn to the next one. */
  #inTime<T>(tenantid: number, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(new AppError('TOO_BUSY', 'Too many requests for control objects are in flight.'));
      }, this.waitMs);
      const begin = async (): Promise<void> => {
        if (isLate) return;
        clearTimeout(timer);
        await work().then(resolve, reject);
      };
      this.#ofAll.run(tenantid, 1, begin).catch(reject);
    });
  }
}
