import type { Batch } from '../db/delivery/tick.js';

/** A batch that may go to the queue now. */
export interface AdmittedBatch extends Batch {
  /** What the tenant has in the queue and in hand already. */
  readonly ahead: number;
}

/**
 * Decides which batches may enter the queue: each tenant may have so many deliveries there at once, and tenants take
 * turns. What is held back is in PostgreSQL anyhow; here are only the ids.
 */
export class Admission {
  /** Of each tenant: deliveries in the queue or in hand as the ledger last said, and events admitted since. */
  readonly #inFlight = new Map<number, number>();
  readonly #held = new Map<number, Batch[]>();
  readonly #heldIds = new Set<string>();
  /** Admitted, and perhaps not evaluated yet: the ledger does not count their events. */
  readonly #admitted = new Map<string, Batch>();

  constructor(private readonly mostPerTenant: number) {}

  get isIdle(): boolean {
    return this.#held.size === 0 && this.#admitted.size === 0;
  }

  /** Ids of the batches that `recount` wants to know about. */
  get admittedIds(): readonly string[] {
    return [...this.#admitted.keys()];
  }

  /** Takes batches in, each once, and returns those that may go now: also those admitted before, which got lost. */
  offer(batches: readonly Batch[]): readonly AdmittedBatch[] {
    const again: AdmittedBatch[] = [];
    for (const batch of batches) {
      if (this.#admitted.has(batch.batchid)) {
        again.push({ ...batch, ahead: this.#inFlight.get(batch.tenantid) ?? 0 });
        continue;
      }
      if (this.#heldIds.has(batch.batchid)) continue;
      this.#heldIds.add(batch.batchid);
      const held = this.#held.get(batch.tenantid);
      if (held) held.push(batch);
      else this.#held.set(batch.tenantid, [batch]);
    }
    return [...again, ...this.#admit()];
  }

  /** Takes back what could not be added to the queue. */
  takeBack(batches: readonly AdmittedBatch[]): void {
    for (const batch of [...batches].reverse()) {
      this.#admitted.delete(batch.batchid);
      this.#heldIds.add(batch.batchid);
      this.#inFlight.set(batch.tenantid, (this.#inFlight.get(batch.tenantid) ?? 0) - batch.events);
      this.#held.set(batch.tenantid, [batch, ...(this.#held.get(batch.tenantid) ?? [])]);
    }
  }

  /** Brings the counts up to what the ledger says, and returns the batches that may go now. */
  recount(deliveries: ReadonlyMap<number, number>, done: ReadonlySet<string>): readonly AdmittedBatch[] {
    for (const batchid of done) this.#admitted.delete(batchid);
    this.#inFlight.clear();
    for (const [tenantid, count] of deliveries) this.#inFlight.set(tenantid, count);
    for (const batch of this.#admitted.values()) this.#count(batch);
    return this.#admit();
  }

  /** One batch of each tenant, then the next of each, until every tenant is out of batches or at its bound. */
  #admit(): readonly AdmittedBatch[] {
    const admitted: AdmittedBatch[] = [];
    let progress = true;
    while (progress) {
      progress = false;
      for (const [tenantid, held] of this.#held) {
        const [batch] = held;
        const ahead = this.#inFlight.get(tenantid) ?? 0;
        // A batch larger than the bound goes when nothing else is there.
        if (!batch || (ahead > 0 && ahead + batch.events > this.mostPerTenant)) continue;
        held.shift();
        if (held.length === 0) this.#held.delete(tenantid);
        this.#heldIds.delete(batch.batchid);
        this.#admitted.set(batch.batchid, batch);
        this.#count(batch);
        admitted.push({ ...batch, ahead });
        progress = true;
      }
    }
    return admitted;
  }

  #count(batch: Batch): void {
    this.#inFlight.set(batch.tenantid, (this.#inFlight.get(batch.tenantid) ?? 0) + batch.events);
  }
}
