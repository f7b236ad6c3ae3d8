import { testSeed } from '../../support/randomNumbers.js';

/** Repeatable chance (mulberry32): the same seed gives the same cases. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ n < below */
  integer(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below);
  }

  chance(percent: number): boolean {
    return this.integer(100) < percent;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(choices.length)]!;
  }
}

export const SEED = testSeed();
