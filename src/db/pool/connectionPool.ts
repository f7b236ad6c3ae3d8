import type pg from 'pg';
import { AppError } from '../../foundation/errors.js';

/** Who a connection is logged in as: the shared login, or the tenant with this id. */
export type Login = 'shared' | number;

/** A connection in use. Release it exactly once. */
export interface Lease {
  readonly client: pg.ClientBase;
  readonly login: Login | 'service';
  /** The tenant for which a shared connection's session was last cleaned; maintained by the lessee. */
  servedTenant: number | undefined;
  /**
   * @param destroy if the state of the connection is unknown
   * @param gone when its session ends, if PostgreSQL could not end it at once
   */
  release(destroy: boolean, gone?: Promise<void>): void;
}

export interface ConnectionPoolOptions {
  /** Connections of all logins together. */
  readonly max: number;
  /** Connections in use by one tenant, whoever they are logged in as. */
  readonly maxPerTenant: number;
  /** Connections of one tenant's own login, including idle ones. */
  readonly maxPerLogin: number;
  /** Connections of all tenants' own logins together, which leaves some for the shared login. */
  readonly maxOwn: number;
  /** Maximum wait for a connection, and maximum time to open one. */
  readonly acquireTimeoutMs: number;
  /** Idle connections are closed after this time. */
  readonly idleTimeoutMs: number;
  /** A shared connection is closed after it has served this many tenants. */
  readonly maxTenantsServed: number;
  /** Opens a connection; rejects with what pg throws. */
  readonly connect: (login: Login) => Promise<pg.Client>;
  readonly onIdleError: (error: Error) => void;
}

interface Connection {
  readonly client: pg.Client;
  readonly login: Login;
  servedTenant: number | undefined;
  /** Every tenant that it has served. */
  readonly served: Set<number>;
  idleSinceMs: number;
}

interface Waiter {
  readonly login: Login;
  readonly tenantid: number | undefined;
  readonly sinceMs: number;
  readonly timer: NodeJS.Timeout;
  resolve(lease: Lease): void;
  reject(error: unknown): void;
}

/** A waiter for the same login may jump the queue, which saves opening a connection, until another has waited this long. */
const MAX_OVERTAKEN_MS = 50;

/** Number of sessions beyond their time, as a share of the connections, from which on a tenant has to wait for the end of one. */
const MAX_SHARE_ABANDONED = 0.1;

/**
 * A pool of connections under one budget, whoever they are logged in as: when it is exhausted, the least recently used
 * idle connection of another login is closed. Tenants that need their own logins share the same budget.
 */
export class ConnectionPool {
  /** Open or being opened, by login. */
  readonly #open = new Map<Login, number>();
  /** Least recently used first. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Waiter[] = [];
  /** Connections in use, by tenant. */
  readonly #inUse = new Map<number, number>();
  /** Sessions whose connection was closed, and which PostgreSQL has not ended yet, by tenant. */
  readonly #abandoned = new Map<number, number>();
  #idleTimer: NodeJS.Timeout | undefined;
  #count = 0;
  #ownCount = 0;
  #closing: (() => void) | undefined;
  #isClosed = false;

  constructor(private readonly options: ConnectionPoolOptions) {}

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Connections in use, including those being opened. */
  get inUse(): number {
    return this.#count - this.#idle.length;
  }

  /** @param tenantid prefers the shared connection that served this tenant last */
  acquire(login: Login, tenantid?: number): Promise<Lease> {
    if (this.#isClosed) return Promise.reject(new Error('the connection pool is closed'));
    if (this.#waiting.length === 0 && this.#mayUse(tenantid)) {
      const idle = this.#takeIdle(login, tenantid);
      if (idle) return Promise.resolve(this.#lease(idle, tenantid));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(
          this.#mayUse(tenantid)
            ? new Error('timed out waiting for a database connection')
            : new AppError('TOO_BUSY', "The tenant's requests are using all the connections it may have."),
        );
      }, this.options.acquireTimeoutMs);
      const waiter: Waiter = { login, tenantid, sinceMs: performance.now(), timer, resolve, reject };
      this.#waiting.push(waiter);
      this.#serve();
    });
  }

  /** Closes idle connections of a login, e.g. of a tenant that is gone. */
  closeIdle(login: Login): void {
    for (const connection of this.#idle.filter((idle) => idle.login === login)) this.#discard(connection);
  }

  /** Waits for connections in use, then closes every one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#waiting.splice(0)) {
      clearTimeout(waiter.timer);
      waiter.reject(new Error('the connection pool is closed'));
    }
    for (const connection of [...this.#idle]) this.#discard(connection);
    clearTimeout(this.#idleTimer);
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => (this.#closing = resolve));
  }

  /** Hands connections to waiters, in order as far as the budget allows. */
  #serve(): void {
    for (const waiter of [...this.#waiting]) {
      if (!this.#mayUse(waiter.tenantid)) continue;
      const idle = this.#takeIdle(waiter.login, waiter.tenantid);
      if (idle) {
        this.#settle(waiter);
        waiter.resolve(this.#lease(idle, waiter.tenantid));
      } else if (this.#isAtLoginLimit(waiter.login)) continue;
      else if (this.#canConnect(waiter.login)) this.#connect(waiter);
      else {
        const isOwn = typeof waiter.login === 'number' && this.#ownCount >= this.options.maxOwn;
        const oldest = this.#idle.find(({ login }) => !isOwn || typeof login === 'number');
        if (!oldest) continue;
        this.#discard(oldest);
        this.#connect(waiter);
      }
    }
  }

  #takeIdle(login: Login, tenantid: number | undefined): Connection | undefined {
    let found = -1;
    for (let index = this.#idle.length - 1; index >= 0; index--) {
      const idle = this.#idle[index];
      if (idle?.login !== login) continue;
      found = index;
      // The most recently used one of this tenant; otherwise the least recently used, so that others keep theirs.
      if (tenantid === undefined || idle.servedTenant === tenantid) break;
    }
    return found < 0 ? undefined : this.#idle.splice(found, 1)[0];
  }

  #canConnect(login: Login): boolean {
    return this.#count < this.options.max && (login === 'shared' || this.#ownCount < this.options.maxOwn);
  }

  #isAtLoginLimit(login: Login): boolean {
    return typeof login === 'number' && (this.#open.get(login) ?? 0) >= this.options.maxPerLogin;
  }

  #mayUse(tenantid: number | undefined): boolean {
    if (tenantid === undefined) return true;
    const { maxPerTenant, max } = this.options;
    const maxAbandoned = Math.max(1, Math.floor(max * MAX_SHARE_ABANDONED));
    return (
      (this.#inUse.get(tenantid) ?? 0) < maxPerTenant && (this.#abandoned.get(tenantid) ?? 0) < maxAbandoned
    );
  }

  #use(tenantid: number | undefined, by: 1 | -1): void {
    if (tenantid !== undefined) add(this.#inUse, tenantid, by);
  }

  #lease(connection: Connection, tenantid: number | undefined): Lease {
    this.#use(tenantid, 1);
    return new ConnectionLease(connection, (destroy, gone) => {
      this.#use(tenantid, -1);
      if (gone && tenantid !== undefined) this.#abandon(tenantid, gone);
      this.#release(connection, destroy);
    });
  }

  /** Others may use its place; the tenant may not, or it could fill PostgreSQL with sessions that don't end. */
  #abandon(tenantid: number, gone: Promise<void>): void {
    add(this.#abandoned, tenantid, 1);
    void gone.then(() => {
      add(this.#abandoned, tenantid, -1);
      this.#serve();
    });
  }

  #settle(waiter: Waiter): void {
    clearTimeout(waiter.timer);
    this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
  }

  #connect(waiter: Waiter): void {
    const { login, tenantid } = waiter;
    this.#settle(waiter);
    this.#counted(login, 1);
    this.#use(tenantid, 1);
    this.options.connect(login).then(
      (client) => {
        this.#use(tenantid, -1);
        const served = new Set<number>();
        const connection: Connection = { client, login, servedTenant: undefined, served, idleSinceMs: 0 };
        client.on('error', (error) => this.#broken(connection, error));
        if (this.#isClosed) {
          waiter.reject(new Error('the connection pool is closed'));
          this.#discard(connection);
          return;
        }
        waiter.resolve(this.#lease(connection, tenantid));
      },
      (error: unknown) => {
        this.#use(tenantid, -1);
        this.#counted(login, -1);
        waiter.reject(error);
        this.#serve();
      },
    );
  }

  #release(connection: Connection, destroy: boolean): void {
    if (destroy || this.#isClosed || connection.served.size >= this.options.maxTenantsServed) {
      this.#discard(connection);
      this.#serve();
      return;
    }
    const next = this.#nextFor(connection.login);
    if (next?.login === connection.login) {
      this.#settle(next);
      next.resolve(this.#lease(connection, next.tenantid));
      return;
    }
    connection.idleSinceMs = performance.now();
    this.#idle.push(connection);
    this.#idleTimer ??= this.#closeIdleLater(this.options.idleTimeoutMs);
    if (next) this.#serve();
  }

  /** One timer for all connections, so that requests neither set nor clear timers. */
  #closeIdleLater(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#idleTimer = undefined;
      const expiredMs = performance.now() - this.options.idleTimeoutMs;
      for (const idle of this.#idle.filter(({ idleSinceMs }) => idleSinceMs <= expiredMs))
        this.#discard(idle);
      const [oldest] = this.#idle;
      if (oldest) this.#idleTimer = this.#closeIdleLater(Math.ceil(oldest.idleSinceMs - expiredMs));
    }, delayMs).unref();
  }

  /** The waiter for a connection that has become free. */
  #nextFor(login: Login): Waiter | undefined {
    const admitted = (waiter: Waiter): boolean => this.#mayUse(waiter.tenantid);
    const first = this.#waiting.find(admitted);
    if (!first || performance.now() - first.sinceMs > MAX_OVERTAKEN_MS) return first;
    return this.#waiting.find((waiter) => waiter.login === login && admitted(waiter)) ?? first;
  }

  #broken(connection: Connection, error: Error): void {
    // It is in use: its user's query fails with the same error and releases it.
    if (!this.#idle.includes(connection)) return;
    this.options.onIdleError(error);
    this.#discard(connection);
    this.#serve();
  }

  #discard(connection: Connection): void {
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#counted(connection.login, -1);
    connection.client.end().catch(() => undefined);
  }

  #counted(login: Login, by: 1 | -1): void {
    add(this.#open, login, by);
    this.#count += by;
    if (login !== 'shared') this.#ownCount += by;
    if (this.#count === 0) this.#closing?.();
  }
}

function add<K>(counts: Map<K, number>, key: K, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

class ConnectionLease implements Lease {
  #isReleased = false;

  constructor(
    private readonly connection: Connection,
    private readonly giveBack: (destroy: boolean, gone?: Promise<void>) => void,
  ) {}

  get client(): pg.ClientBase {
    return this.connection.client;
  }

  get login(): Login {
    return this.connection.login;
  }

  get servedTenant(): number | undefined {
    return this.connection.servedTenant;
  }

  set servedTenant(tenantid: number | undefined) {
    this.connection.servedTenant = tenantid;
    if (tenantid !== undefined) this.connection.served.add(tenantid);
  }

  release(destroy: boolean, gone?: Promise<void>): void {
    if (this.#isReleased) throw new Error('the connection was already released');
    this.#isReleased = true;
    this.giveBack(destroy, gone);
  }
}
