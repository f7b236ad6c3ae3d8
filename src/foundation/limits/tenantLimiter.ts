import { AppError } from '../errors.js';

export interface LimiterOptions {
  /** Maximum requests in flight per tenant. */
  readonly running: number;
  /** Maximum waiting requests per tenant. */
  readonly waiting: number;
  /** Maximum wait. */
  readonly waitMs: number;
}

/** Retry-After for refused callers, in seconds. */
export const RETRY_AFTER_SECONDS = 1;

interface Line {
  running: number;
  readonly waiting: { readonly start: () => void; readonly timer: NodeJS.Timeout }[];
}

/**
 * Bounds what one tenant's requests take of a process: some run at a time, some wait, and the rest are rejected immediately. A
 * semaphore of `async-mutex` per tenant would bound neither waiters nor memory for idle tenants.
 */
export class TenantLimiter {
  readonly #lines = new Map<number, Line>();

  constructor(private readonly limits: LimiterOptions) {}

  /** Runs the work once admitted. Throws AppError TOO_BUSY. */
  async run<T>(tenantid: number, work: () => Promise<T>): Promise<T> {
    await this.#enter(tenantid);
    try {
      return await work();
    } finally {
      this.#leave(tenantid);
    }
  }

  async #enter(tenantid: number): Promise<void> {
    let line = this.#lines.get(tenantid);
    if (!line) this.#lines.set(tenantid, (line = { running: 0, waiting: [] }));
    if (line.running < this.limits.running) {
      line.running += 1;
      return;
    }
    if (line.waiting.length >= this.limits.waiting) throw tooBusy();
    await this.#wait(line);
  }

  #wait({ waiting }: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(place), 1);
        reject(tooBusy());
      }, this.limits.waitMs);
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const place = { start, timer };
      waiting.push(place);
    });
  }

  #leave(tenantid: number): void {
    const line = this.#lines.get(tenantid);
    if (!line) return;
    // The slot passes directly to the next waiter.
    const next = line.waiting.shift();
    if (next) next.start();
    else if (--line.running === 0) this.#lines.delete(tenantid);
  }
}

function tooBusy(): AppError {
  return new AppError('TOO_BUSY', 'The tenant has too many requests in flight.', {
    details: { retryAfterSeconds: RETRY_AFTER_SECONDS },
  });
}
