import type { Batch } from '../../src/db/outbox/batches.js';

/** A change that becomes an email. */
export interface Email {
  readonly tenantid: number;
  /** When its row was written, just before the commit. */
  writtenMs: number;
}

/** Emails of one tenant that the relay found together. */
export interface Job {
  readonly batch: Batch;
  readonly emails: readonly Email[];
  readonly priority: number;
}

/** What PostgreSQL knows of emails on their way. */
export class Ledger {
  /** Deliveries that are recorded and not begun yet, by tenant. */
  readonly waiting = new Map<number, number>();
  /** Since the relay last asked. */
  #closed: Batch[] = [];

  /** The deliveries of a batch are recorded. */
  close(batch: Batch): void {
    this.#closed.push(batch);
    this.waiting.set(batch.tenantid, (this.waiting.get(batch.tenantid) ?? 0) + batch.events);
  }

  begin(tenantid: number): void {
    const left = (this.waiting.get(tenantid) ?? 0) - 1;
    if (left > 0) this.waiting.set(tenantid, left);
    else this.waiting.delete(tenantid);
  }

  takeClosed(): readonly Batch[] {
    const closed = this.#closed;
    this.#closed = [];
    return closed;
  }
}
