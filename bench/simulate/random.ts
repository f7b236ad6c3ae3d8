/** Chance that repeats: the same seed gives the same run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Times between arrivals that know nothing of each other. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  /** What service times are multiplied by: 1 on average, never less than a half. */
  spread(): number {
    return 0.5 + this.exponential(0.5);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }
}

/** Tenants by Zipf's law: the nth largest has a share in proportion to 1 / n. */
export class Zipf {
  readonly #upTo: Float64Array;

  /** @param ranks of the tenants to draw from, ascending, counted from 1 */
  constructor(readonly ranks: readonly number[]) {
    this.#upTo = new Float64Array(ranks.length);
    let sum = 0;
    ranks.forEach((rank, at) => (this.#upTo[at] = sum += 1 / rank));
  }

  /** Not divided by the sum over all tenants of all cells. */
  get weight(): number {
    return this.#upTo.at(-1) ?? 0;
  }

  shareOf(rank: number): number {
    return 1 / rank / this.weight;
  }

  /** How many different tenants so many draws are of, on average. */
  expectDistinct(draws: number): number {
    return this.ranks.reduce((sum, rank) => sum - Math.expm1(-draws / rank / this.weight), 0);
  }

  /** @returns a rank */
  draw(random: Random): number {
    const wanted = random.next() * this.weight;
    let from = 0;
    let to = this.#upTo.length - 1;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#upTo[middle] ?? 0) > wanted) to = middle;
      else from = middle + 1;
    }
    return this.ranks[from] ?? 0;
  }
}
