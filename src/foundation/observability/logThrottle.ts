import { LRUCache } from 'lru-cache';

const MAX_REMEMBERED = 10_000;

/** Says whether a message that would be logged many times is due: once per interval for each key. */
export class LogThrottle {
  readonly #logged: LRUCache<string, true>;

  constructor(intervalMs: number) {
    this.#logged = new LRUCache({ max: MAX_REMEMBERED, ttl: intervalMs });
  }

  isDue(key: string): boolean {
    if (this.#logged.has(key)) return false;
    this.#logged.set(key, true);
    return true;
  }
}
