import { LRUCache } from 'lru-cache';

/**
 * Failed requests, failed deliveries and internal errors that are logged per second, whatever the settings. A tenant may
 * cause any number of them.
 */
export const FAILURES_PER_SECOND = 50;

export interface LogLimits {
  /** In milliseconds, from the first line on. */
  readonly intervalMs: number;
  /** Lines per interval; 0 leaves out all. */
  readonly lines?: number;
  /** Lines per interval with the same key. */
  readonly linesPerKey?: number;
  /** Called before the next line with the number of lines left out since the previous one. */
  readonly onLeftOut?: (count: number) => void;
  readonly now?: () => number;
}

const MAX_KEYS = 10_000;

/** Limits log lines of one kind. Decides before a line is built, so that lines that are left out cost next to nothing. */
export class LogThrottle {
  readonly #limits: Required<LogLimits>;
  readonly #byKey: LRUCache<number | string, { lines: number }>;
  #lines = 0;
  #endsAtMs = -Infinity;
  #leftOut = 0;

  constructor(limits: LogLimits) {
    const now = (): number => performance.now();
    this.#limits = { lines: Infinity, linesPerKey: Infinity, onLeftOut: () => undefined, now, ...limits };
    const { intervalMs: ttl } = limits;
    this.#byKey = new LRUCache({ max: MAX_KEYS, ttl, ttlResolution: 0, perf: this.#limits });
  }

  /** @param key of lines with a limit of their own, such as those of a tenant */
  isDue(key?: number | string): boolean {
    const { intervalMs, lines, linesPerKey, onLeftOut, now } = this.#limits;
    const nowMs = now();
    if (nowMs > this.#endsAtMs) {
      this.#endsAtMs = nowMs + intervalMs;
      this.#lines = 0;
    }
    const ofKey = key === undefined ? { lines: 0 } : this.#linesOf(key);
    if (this.#lines >= lines || ofKey.lines >= linesPerKey) {
      this.#leftOut += 1;
      return false;
    }
    this.#lines += 1;
    ofKey.lines += 1;
    if (this.#leftOut > 0) onLeftOut(this.#leftOut);
    this.#leftOut = 0;
    return true;
  }

  #linesOf(key: number | string): { lines: number } {
    const known = this.#byKey.get(key);
    if (known) return known;
    const first = { lines: 0 };
    this.#byKey.set(key, first);
    return first;
  }
}
