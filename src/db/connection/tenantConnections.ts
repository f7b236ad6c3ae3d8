import type pg from 'pg';
import type { Pool } from 'pg';
import type { KeyRing } from '../../secrets.js';
import type { Logger } from '../../log.js';
import type { Connector } from './connector.js';
import { ConnectionPool, type Lease, type Login } from './connectionPool.js';
import { limitMessages } from './messageLimit.js';
import { breakOnCanceledReplicationWait } from './replicationWait.js';
import type { RoleNames } from './roleNames.js';
import { settleSharedAccess, withoutSharedAccess, type TenantAccess } from './sharedAccess.js';
import { readSettledAccess, recordSettledAccess } from './settledAccess.js';
import type { SessionSettings } from './sessionSettings.js';
import { TenantLogins } from './tenantLogins.js';

export interface TenantConnectionsOptions {
  /** The service's own connections to the same server. */
  readonly pool: Pool;
  /** To the primary, for roles and grants, if that is another server. */
  readonly primaryPool?: Pool;
  readonly connector: Connector;
  /** To PostgreSQL itself: for changes of schemas. */
  readonly direct: Connector;
  /** Defaults that a role gets with its login, where a pooler is between. */
  readonly roleDefaults: SessionSettings | undefined;
  readonly keyRing: KeyRing;
  /** Connections of all logins together. */
  readonly max: number;
  readonly acquireTimeoutMs: number;
  readonly log: Logger;
}

/** Shares of the budget that one tenant's own login may take, and all of them together. */
const MAX_SHARE_PER_TENANT = 0.5;
const MAX_SHARE_OF_OWN = 0.75;
const MIN_PER_TENANT = 2;
const IDLE_TIMEOUT_MS = 10_000;

/**
 * The connections that tenants' statements run on. A tenant whose schema holds no code of its own is served by
 * connections shared with others, which enter its role; any other only by connections that are logged in as its role, and
 * can become nobody else. PostgreSQL decides which, when the role is entered; here it is only remembered.
 */
export class TenantConnections {
  /** What the hashes of schemas are seeded with: the same in all processes, and known to no tenant. */
  readonly fingerprintSeed: bigint;
  readonly #pool: ConnectionPool;
  readonly #logins: TenantLogins;
  #names: RoleNames | undefined;
  /** Tenants that shared connections can't serve: settled, or as PostgreSQL has just said. */
  readonly #own = new Map<number, 'settled' | 'refused'>();

  constructor(private readonly options: TenantConnectionsOptions) {
    const { pool, connector, direct, roleDefaults, keyRing, max, log } = options;
    this.fingerprintSeed = keyRing.number('schema fingerprints');
    const primaryPool = options.primaryPool ?? pool;
    this.#logins = new TenantLogins({ pool: primaryPool, connector, direct, roleDefaults, keyRing });
    this.#pool = new ConnectionPool({
      max,
      maxPerTenant: Math.min(max, Math.max(MIN_PER_TENANT, Math.floor(max * MAX_SHARE_PER_TENANT))),
      maxOwn: Math.max(1, Math.floor(max * MAX_SHARE_OF_OWN)),
      acquireTimeoutMs: options.acquireTimeoutMs,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      connect: async (login) => {
        const client = await this.#logins.connect(login);
        limitMessages(client);
        breakOnCanceledReplicationWait(client);
        return client;
      },
      // PostgreSQL restarted; the next use opens another.
      onIdleError: (error) => log.warn({ err: error }, 'an idle database connection broke'),
    });
  }

  /** Connections of all tenants together. */
  get max(): number {
    return this.options.max;
  }

  /** Connections in use, and who waits for one. */
  get use(): { readonly inUse: number; readonly waiting: number } {
    return { inUse: this.#pool.inUse, waiting: this.#pool.waitingCount };
  }

  async names(): Promise<RoleNames> {
    this.#names = await this.#logins.names();
    return this.#names;
  }

  /** The database may be another one, in which roles are named otherwise. The old names serve until the new ones are read. */
  forgetNames(): void {
    this.#logins.forgetNames();
  }

  /** The tenant's role. Known once a connection was had. */
  role(tenantid: number): string {
    if (!this.#names) throw new Error('the names of roles are not known yet');
    return this.#names.tenant(tenantid);
  }

  loginOf(tenantid: number): Login {
    return this.#own.has(tenantid) ? tenantid : 'shared';
  }

  /** @param tenantid null for the service's own tables. Throws what pg throws. */
  async acquire(tenantid: number | null): Promise<Lease> {
    if (tenantid === null) return this.#acquireService();
    if (!this.#names) await this.names();
    return this.#pool.acquire(this.loginOf(tenantid), tenantid);
  }

  async #acquireService(): Promise<Lease> {
    const client = await this.options.pool.connect();
    return {
      client,
      login: 'service',
      servedTenant: undefined,
      release: (destroy) => {
        client.release(destroy);
      },
    };
  }

  /** Whether the shared login can connect. Throws what pg throws. */
  async checkSharedLogin(): Promise<void> {
    (await this.acquireShared()).release(true);
  }

  /** A connection of the shared login that serves no tenant yet. Throws what pg throws. */
  acquireShared(): Promise<Lease> {
    return this.#pool.acquire('shared');
  }

  /** Whether a request waits for a connection of this kind. */
  isBusy(tenantid: number | null): boolean {
    return (tenantid === null ? this.options.pool : this.#pool).waitingCount > 0;
  }

  /** PostgreSQL did not let a shared connection enter the tenant's role. */
  refused(tenantid: number): void {
    if (!this.#own.has(tenantid)) this.#own.set(tenantid, 'refused');
  }

  /** Whether `settle` has to be asked, although the schema is as it was. */
  isUnsettled(tenantid: number): boolean {
    return this.#own.get(tenantid) === 'refused';
  }

  /** Decides by the schema's objects which connections serve the tenant. Throws what pg throws. */
  async settle(tenantid: number, schema: string): Promise<void> {
    this.#remember(
      tenantid,
      await settleSharedAccess(this.options.pool, await this.names(), { tenantid, schema }),
    );
  }

  /**
   * Whether the schema was found fit to serve when it had this fingerprint, by whatever process, and PostgreSQL still has
   * the roles as they were left. Throws what pg throws.
   */
  async isSettled(tenantid: number, fingerprint: string): Promise<boolean> {
    const access = await readSettledAccess(this.options.pool, await this.names(), tenantid, fingerprint);
    if (access === undefined) return false;
    this.#remember(tenantid, access);
    return true;
  }

  /** Spares other processes what `settle` has just cost. Throws what pg throws. */
  async recordSettled(tenantid: number, fingerprint: string): Promise<void> {
    const access = this.#own.get(tenantid) ?? 'shared';
    if (access === 'refused') return;
    await recordSettledAccess(
      this.options.pool,
      tenantid,
      fingerprint,
      access === 'settled' ? 'own' : 'shared',
    );
  }

  #remember(tenantid: number, access: TenantAccess): void {
    if (access === 'shared') this.#own.delete(tenantid);
    else this.#own.set(tenantid, access === 'own' ? 'settled' : 'refused');
  }

  /** Runs `change` on a connection of its own, logged in as the tenant, while no shared connection serves the tenant. */
  async changeSchema<T>(tenantid: number, change: (client: pg.Client) => Promise<T>): Promise<T> {
    const { pool, direct } = this.options;
    return withoutSharedAccess(pool, direct, await this.names(), tenantid, async () => {
      const client = await this.#logins.connectDirectly(tenantid);
      try {
        return await change(client);
      } finally {
        await client.end();
      }
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
