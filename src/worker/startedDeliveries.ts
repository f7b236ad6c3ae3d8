import { setTimeout as delay } from 'node:timers/promises';
import { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import type { Logger } from '../foundation/observability/log.js';

/**
 * Deliveries, or batches, that wait for a slot or have one. Tenants share their number fairly: one whose carrier is not responding, or
 * whose conditions are slow, has at most half. Those beyond that stay in the ledger, and the reconciler queues them seconds later.
 */
export class StartedDeliveries {
  readonly #limiter: TenantLimiter;
  readonly #running = new Set<Promise<void>>();

  constructor(max: number) {
    this.#limiter = new TenantLimiter({ max });
  }

  /** Runs the work unless the tenant has as many deliveries as it may. */
  async run(tenantid: number, work: () => Promise<void>): Promise<void> {
    const { reserve, release } = this.#limiter.open(tenantid);
    try {
      if (reserve(1)) await work();
    } finally {
      release();
    }
  }

  /** As `run`, for work that nobody waits for but `ended`. */
  start(tenantid: number, work: () => Promise<void>, log: Logger): void {
    const running = this.run(tenantid, work)
      .catch((error: unknown) => {
        log.warn({ err: error, tenantid }, 'a delivery failed; the reconciler will requeue it');
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves once all that were started have ended, or after this time. */
  async ended(withinMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#running), delay(withinMs, undefined, { ref: false })]);
  }
}
