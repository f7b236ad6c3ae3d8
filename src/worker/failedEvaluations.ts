import { AppError } from '../foundation/errors.js';
import { isServerError, isSessionEnd } from '../db/sql/sqlState.js';

/** About as long as an email is retried. */
const MAX_FAILING_MS = 3_600_000;
/** A tenant whose evaluations last failed longer ago begins anew. */
const FORGOTTEN_MS = 600_000;

/**
 * Tenants whose conditions PostgreSQL lets nobody evaluate, although it responds: for example, because settings of their role keep
 * it from logging in. Their batches must end as well, or the relay would read all that came after them, each time.
 */
export class FailedEvaluations {
  readonly #failing = new Map<number, { readonly sinceMs: number; lastMs: number }>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  succeeded(tenantid: number): void {
    this.#failing.delete(tenantid);
  }

  /** @returns whether to give up a batch of this age: neither it nor any other of the tenant's could be evaluated for an hour */
  failed(tenantid: number, batchAgeMs: number, error: unknown): boolean {
    const cause = error instanceof AppError ? error.cause : error;
    if (!isServerError(cause) || isSessionEnd(cause)) return false;
    const nowMs = this.nowMs();
    let failing = this.#failing.get(tenantid);
    if (!failing || nowMs - failing.lastMs > FORGOTTEN_MS) failing = { sinceMs: nowMs, lastMs: nowMs };
    failing.lastMs = nowMs;
    this.#failing.set(tenantid, failing);
    return Math.min(batchAgeMs, nowMs - failing.sinceMs) >= MAX_FAILING_MS;
  }
}
