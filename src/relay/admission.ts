import type { Batch } from '../db/outbox/batches.js';

/** A batch that may be queued now. */
export interface AdmittedBatch extends Batch {
  /** Deliveries and events of the tenant that wait already. */
  readonly ahead: number;
}

export interface WaitingLimits {
  readonly min: number;
  readonly max: number;
}

/** The minimum keeps workers busy until it is known how fast a tenant's deliveries move. */
const LIMITS: WaitingLimits = { min: 200, max: 5_000 };
/**
 * A tenant may have this many times the deliveries waiting that workers began since the previous recount: more than they
 * begin until the next one, and few enough to begin within a second. A delivery that waits longer has its lease recorded
 * and is updated in place from then on; the events of a backlog wait in the outbox at no cost.
 */
const INTERVALS_AHEAD = 3;

/**
 * Decides which batches may enter the queue: up to a maximum waiting per tenant, round-robin across tenants. Holds
 * only the ids of what waits; the batches themselves are in PostgreSQL.
 */
export class Admission {
  /** Per tenant: deliveries waiting at the last recount, plus events admitted since. */
  readonly #waiting = new Map<number, number>();
  /** Per tenant, unless it is the minimum. */
  readonly #limits = new Map<number, number>();
  /** Per tenant, in order. */
  readonly #held = new Map<number, Map<string, Batch>>();
  /** Admitted but possibly not evaluated yet: the ledger doesn't count their events. */
  readonly #admitted = new Map<string, Batch>();

  constructor(private readonly limits = LIMITS) {}

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
        again.push({ ...batch, ahead: this.#waiting.get(batch.tenantid) ?? 0 });
      } else {
        const held = this.#held.get(batch.tenantid) ?? new Map<string, Batch>();
        this.#held.set(batch.tenantid, held.set(keyOf(batch), batch));
      }
    }
    return [...again, ...this.#admit()];
  }

  /** Returns batches that could not be queued to the front of their tenants' queues. */
  requeue(batches: readonly AdmittedBatch[]): void {
    const returned = new Map<number, Map<string, Batch>>();
    for (const batch of batches) {
      this.#admitted.delete(keyOf(batch));
      this.#waiting.set(batch.tenantid, (this.#waiting.get(batch.tenantid) ?? 0) - batch.events);
      const ahead = returned.get(batch.tenantid) ?? new Map<string, Batch>();
      returned.set(batch.tenantid, ahead.set(keyOf(batch), batch));
    }
    // Once for each tenant: those behind may be a hundred thousand.
    for (const [tenantid, ahead] of returned) {
      for (const [key, batch] of this.#held.get(tenantid) ?? []) ahead.set(key, batch);
      this.#held.set(tenantid, ahead);
    }
  }

  /** Resets the counts to the ledger's. @param ended those of `admitted` that no longer count @returns the batches admitted now */
  recount(deliveries: ReadonlyMap<number, number>, ended: readonly Batch[]): readonly AdmittedBatch[] {
    const before = new Map(this.#waiting);
    for (const batch of ended) this.#admitted.delete(keyOf(batch));
    this.#waiting.clear();
    for (const [tenantid, count] of deliveries) this.#waiting.set(tenantid, count);
    for (const batch of this.#admitted.values()) this.#count(batch);
    this.#limits.clear();
    for (const [tenantid, count] of before) {
      const started = count - (this.#waiting.get(tenantid) ?? 0);
      const limit = Math.min(started * INTERVALS_AHEAD, this.limits.max);
      if (limit > this.limits.min) this.#limits.set(tenantid, limit);
    }
    return this.#admit();
  }

  /** Round-robin, until every tenant is out of batches or has reached its limit, its last batch included. */
  #admit(): readonly AdmittedBatch[] {
    const admitted: AdmittedBatch[] = [];
    let progress = true;
    while (progress) {
      progress = false;
      for (const [tenantid, held] of this.#held) {
        const [batch] = held.values();
        const ahead = this.#waiting.get(tenantid) ?? 0;
        if (!batch || ahead >= (this.#limits.get(tenantid) ?? this.limits.min)) continue;
        held.delete(keyOf(batch));
        if (held.size === 0) this.#held.delete(tenantid);
        this.#admitted.set(keyOf(batch), batch);
        this.#count(batch);
        admitted.push({ ...batch, ahead });
        progress = true;
      }
    }
    return admitted;
  }

  #count(batch: Batch): void {
    this.#waiting.set(batch.tenantid, (this.#waiting.get(batch.tenantid) ?? 0) + batch.events);
  }
}

/** Ids step back with the database, times don't. */
const keyOf = ({ batchid, createtime }: Batch): string => `${batchid} ${createtime}`;
