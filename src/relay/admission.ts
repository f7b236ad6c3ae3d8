import type { Batch } from '../db/delivery/batches.js';

/** A batch that may be queued now. */
export interface AdmittedBatch extends Batch {
  /** Deliveries and events that the tenant already has queued or in flight. */
  readonly ahead: number;
}

/**
 * Decides which batches may enter the queue: up to a maximum in flight per tenant, round-robin across tenants. Holds
 * only the ids of what waits; the batches themselves are in PostgreSQL.
 */
export class Admission {
  /** Per tenant: deliveries queued or in flight at the last recount, plus events admitted since. */
  readonly #inFlight = new Map<number, number>();
  readonly #held = new Map<number, Batch[]>();
  readonly #heldIds = new Set<string>();
  /** Admitted but possibly not evaluated yet: the ledger doesn't count their events. */
  readonly #admitted = new Map<string, Batch>();

  constructor(private readonly maxInFlightPerTenant: number) {}

  get isIdle(): boolean {
    return this.#held.size === 0 && this.#admitted.size === 0;
  }

  /** The batches of which `recount` needs to know whether they have ended. */
  get admitted(): readonly Batch[] {
    return [...this.#admitted.values()];
  }

  /** Takes batches in, ignoring duplicates. @returns those admitted now, including any admitted earlier, whose jobs may be lost */
  offer(batches: readonly Batch[]): readonly AdmittedBatch[] {
    const again: AdmittedBatch[] = [];
    for (const batch of batches) {
      if (this.#admitted.has(keyOf(batch))) {
        again.push({ ...batch, ahead: this.#inFlight.get(batch.tenantid) ?? 0 });
        continue;
      }
      if (this.#heldIds.has(keyOf(batch))) continue;
      this.#heldIds.add(keyOf(batch));
      const held = this.#held.get(batch.tenantid);
      if (held) held.push(batch);
      else this.#held.set(batch.tenantid, [batch]);
    }
    return [...again, ...this.#admit()];
  }

  /** Returns batches that could not be queued to the front of their tenants' queues. */
  requeue(batches: readonly AdmittedBatch[]): void {
    for (const batch of [...batches].reverse()) {
      this.#admitted.delete(keyOf(batch));
      this.#heldIds.add(keyOf(batch));
      this.#inFlight.set(batch.tenantid, (this.#inFlight.get(batch.tenantid) ?? 0) - batch.events);
      this.#held.set(batch.tenantid, [batch, ...(this.#held.get(batch.tenantid) ?? [])]);
    }
  }

  /** Resets the counts to the ledger's. @param ended those of `admitted` that no longer count @returns the batches admitted now */
  recount(deliveries: ReadonlyMap<number, number>, ended: readonly Batch[]): readonly AdmittedBatch[] {
    for (const batch of ended) this.#admitted.delete(keyOf(batch));
    this.#inFlight.clear();
    for (const [tenantid, count] of deliveries) this.#inFlight.set(tenantid, count);
    for (const batch of this.#admitted.values()) this.#count(batch);
    return this.#admit();
  }

  /** Round-robin, until every tenant is out of batches or at its limit. */
  #admit(): readonly AdmittedBatch[] {
    const admitted: AdmittedBatch[] = [];
    let progress = true;
    while (progress) {
      progress = false;
      for (const [tenantid, held] of this.#held) {
        const [batch] = held;
        const ahead = this.#inFlight.get(tenantid) ?? 0;
        // A batch larger than the limit is admitted when the tenant has nothing else in flight.
        if (!batch || (ahead > 0 && ahead + batch.events > this.maxInFlightPerTenant)) continue;
        held.shift();
        if (held.length === 0) this.#held.delete(tenantid);
        this.#heldIds.delete(keyOf(batch));
        this.#admitted.set(keyOf(batch), batch);
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

/** Ids step back with the database, times don't. */
const keyOf = ({ batchid, createtime }: Batch): string => `${batchid} ${createtime}`;
