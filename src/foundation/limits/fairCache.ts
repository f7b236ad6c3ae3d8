interface Entry<T> {
  readonly value: T;
  readonly weight: number;
  readonly owner: string;
  /** Since the entry was last considered for eviction. */
  wasUsed: boolean;
}

/** Keys, the oldest first. */
interface Owned {
  readonly keys: Set<string>;
  weight: number;
}

/** Maximum share of one owner: entries that are never used again must not evict those of others. */
const QUOTA = 0.25;

/**
 * A cache keyed by text, bounded by weight in total and per owner: an owner at its quota evicts only its own entries, which
 * `lru-cache` can't do. Eviction is second-chance (CLOCK): the oldest entry goes first unless it was used in the meantime,
 * so a hit costs no more than a lookup.
 */
export class FairCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #owners = new Map<string, Owned>();
  #weight = 0;

  constructor(private readonly maxWeight: number) {}

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    entry.wasUsed = true;
    return entry.value;
  }

  set(key: string, value: T, weight: number, owner: string): void {
    this.delete(key);
    let owned = this.#owners.get(owner);
    if (!owned) this.#owners.set(owner, (owned = { keys: new Set(), weight: 0 }));
    this.#entries.set(key, { value, weight, owner, wasUsed: false });
    owned.keys.add(key);
    owned.weight += weight;
    this.#weight += weight;
    this.#evict(owned.keys, key, () => owned.weight > this.maxWeight * QUOTA);
    this.#evict(this.#entries.keys(), key, () => this.#weight > this.maxWeight);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    const owned = this.#owners.get(entry.owner);
    if (!owned) return;
    owned.keys.delete(key);
    owned.weight -= entry.weight;
    if (owned.keys.size === 0) this.#owners.delete(entry.owner);
  }

  /** Moves the entry to the newest end. */
  #renew(key: string, entry: Entry<T>): void {
    entry.wasUsed = false;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const keys = this.#owners.get(entry.owner)?.keys;
    keys?.delete(key);
    keys?.add(key);
  }

  #evict(oldestFirst: Iterable<string>, keep: string, isTooMuch: () => boolean): void {
    for (const oldest of oldestFirst) {
      if (!isTooMuch()) return;
      if (oldest === keep) continue;
      const entry = this.#entries.get(oldest);
      if (entry?.wasUsed) this.#renew(oldest, entry);
      else this.delete(oldest);
    }
  }
}
