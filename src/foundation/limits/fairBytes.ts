/** What one of an owner's requests holds. */
export interface HeldBytes {
  /** Counts bytes, also those that don't fit. @returns whether they fit into what is left for the owner */
  readonly take: (bytes: number) => boolean;
  /** Releases all of it. Idempotent. */
  readonly release: () => void;
}

/**
 * Divides memory among owners, however many requests each has. An owner's requests may hold as many bytes as all owners
 * leave free: half of them for one owner, a third each for two. So there is always room for one more owner, and for a
 * single request as long as anything is free.
 */
export class FairBytes<Owner> {
  readonly #owners = new Map<Owner, number>();
  #held = 0;

  constructor(private readonly max: number) {}

  get held(): number {
    return this.#held;
  }

  open(owner: Owner): HeldBytes {
    let taken = 0;
    return {
      take: (bytes) => {
        taken += bytes;
        const heldByOwner = this.#add(owner, bytes);
        const free = this.max - this.#held;
        return free >= 0 && (heldByOwner <= taken || heldByOwner <= free);
      },
      release: () => {
        this.#add(owner, -taken);
        taken = 0;
      },
    };
  }

  /** @returns the bytes that the owner now holds */
  #add(owner: Owner, bytes: number): number {
    const held = (this.#owners.get(owner) ?? 0) + bytes;
    if (held === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, held);
    this.#held += bytes;
    return held;
  }
}
