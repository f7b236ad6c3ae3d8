import { AppError } from '../errors.js';

export interface LimiterOptions {
  /** Units of all tenants together. */
  readonly max?: number;
  /** Units of one tenant, besides that it may hold no more than all leave free. */
  readonly perTenant?: number;
  /** Work of one tenant that may wait. */
  readonly waiting?: number;
  /** How long it may wait. */
  readonly waitMs?: number;
}

/** What one request, or other work, of a tenant holds. */
export interface Reservation {
  /** Counts units, also those that don't fit. @returns whether they fit into what is left for the tenant */
  readonly reserve: (units: number) => boolean;
  /** Releases all of it. Idempotent. */
  readonly release: () => void;
}

/** Retry-After for refused callers, in seconds. */
export const RETRY_AFTER_SECONDS = 1;

interface Waiter {
  readonly units: number;
  readonly start: () => void;
}

interface Account<Tenant> {
  readonly tenant: Tenant;
  /** First come, first served. */
  readonly waiting: Waiter[];
  held: number;
  /** When it came, or what it holds last changed, as a number. */
  turn: number;
}

/**
 * Divides units of something, such as bytes, connections or requests in flight, among tenants. A tenant may hold as many as all
 * leave free: half for one tenant, a third each for two. So something is left for one more tenant, and a single request may have
 * all that is free. The next to start is the waiting tenant of which nothing has started or ended for the longest time.
 */
export class TenantLimiter<Tenant = number> {
  /** Of tenants that hold something, or wait. */
  readonly #accounts = new Map<Tenant, Account<Tenant>>();
  readonly #waiting = new Set<Account<Tenant>>();
  readonly #limits: Required<LimiterOptions>;
  #held = 0;
  #turns = 0;

  constructor({ max = Infinity, perTenant = max, waiting = Infinity, waitMs = Infinity }: LimiterOptions) {
    this.#limits = { max, perTenant, waiting, waitMs };
  }

  get held(): number {
    return this.#held;
  }

  /** For what is refused if it doesn't fit now. */
  open(tenant: Tenant): Reservation {
    let own = 0;
    return {
      reserve: (units) => {
        own += units;
        const account = this.#accountOf(tenant);
        this.#hold(account, units);
        return this.#held <= this.#limits.max && this.#isWithinQuota(account, own, 0);
      },
      release: () => {
        this.#release(this.#accountOf(tenant), own);
        own = 0;
      },
    };
  }

  /**
   * Runs the work once its units fit. More than all units count as all. Throws AppError TOO_BUSY if too much work of the tenant
   * waits, or this has waited too long.
   */
  async run<T>(tenant: Tenant, work: () => Promise<T>, units = 1): Promise<T> {
    const own = Math.min(Math.max(units, 1), this.#limits.max);
    const account = this.#accountOf(tenant);
    if (this.#waiting.size === 0 && this.#mayStart(account, own)) this.#hold(account, own);
    else await this.#enter(account, own);
    try {
      return await work();
    } finally {
      this.#release(account, own);
    }
  }

  #enter(account: Account<Tenant>, units: number): Promise<void> {
    const { waiting } = account;
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const waiter = { units, start };
      const refuse = (): void => {
        waiting.splice(waiting.indexOf(waiter), 1);
        this.#forgetIdle(account);
        reject(tooBusy());
        // It may have been ahead of smaller ones.
        this.#admit();
      };
      waiting.push(waiter);
      this.#waiting.add(account);
      this.#admit();
      if (!waiting.includes(waiter)) return;
      if (waiting.length > this.#limits.waiting) refuse();
      else if (this.#limits.waitMs < Infinity) timer = setTimeout(refuse, this.#limits.waitMs);
    });
  }

  #admit(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const [waiter] = next.waiting;
      // Not a smaller one of another tenant either: a large one would never get its turn.
      if (!waiter || !this.#mayStart(next, waiter.units)) return;
      next.waiting.shift();
      this.#hold(next, waiter.units);
      this.#forgetIdle(next);
      waiter.start();
    }
  }

  #next(): Account<Tenant> | undefined {
    let next: Account<Tenant> | undefined;
    for (const account of this.#waiting) {
      const [waiter] = account.waiting;
      if (!waiter || (next !== undefined && next.turn < account.turn)) continue;
      if (this.#isWithinQuota(account, waiter.units, waiter.units)) next = account;
    }
    return next;
  }

  #mayStart(account: Account<Tenant>, units: number): boolean {
    return this.#held + units <= this.#limits.max && this.#isWithinQuota(account, units, units);
  }

  /** Whether a tenant may hold so many more, of which `own` belong to a single request. */
  #isWithinQuota(account: Account<Tenant>, own: number, more: number): boolean {
    const { max, perTenant } = this.#limits;
    const held = account.held + more;
    const free = max - this.#held - more;
    return held <= perTenant && (held <= own || held <= free);
  }

  #hold(account: Account<Tenant>, units: number): void {
    account.held += units;
    account.turn = ++this.#turns;
    this.#held += units;
  }

  #release(account: Account<Tenant>, units: number): void {
    this.#hold(account, -units);
    this.#forgetIdle(account);
    this.#admit();
  }

  #accountOf(tenant: Tenant): Account<Tenant> {
    let account = this.#accounts.get(tenant);
    if (!account)
      this.#accounts.set(tenant, (account = { tenant, waiting: [], held: 0, turn: ++this.#turns }));
    return account;
  }

  #forgetIdle(account: Account<Tenant>): void {
    if (account.waiting.length > 0) return;
    this.#waiting.delete(account);
    if (account.held === 0) this.#accounts.delete(account.tenant);
  }
}

function tooBusy(): AppError {
  return new AppError('TOO_BUSY', 'Too many requests are in flight.', {
    details: { retryAfterSeconds: RETRY_AFTER_SECONDS },
  });
}
