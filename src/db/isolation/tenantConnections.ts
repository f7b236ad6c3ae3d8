import type pg from 'pg';
import type { Pool } from 'pg';
import type { KeyRing } from '../../config/secrets.js';
import type { Logger } from '../../foundation/observability/log.js';
import { IDLE_TIMEOUT_MS, type Connector } from '../pool/connector.js';
import { ConnectionPool, type Lease, type Login } from '../pool/connectionPool.js';
import { breakOnCanceledReplicationWait, limitMessages } from '../wire/index.js';
import type { RoleNames } from './roleNames.js';
import { settleSharedAccess, withoutSharedAccess, type TenantAccess } from './sharedAccess.js';
import { readGrantState, recordSettledAccess } from './grantState.js';
import type { SessionSettings } from '../pool/sessionSettings.js';
import type { OwnerSettings } from '../catalog/ownerSettings.js';
import { ServedBySharedLogin, TenantLogins } from './tenantLogins.js';

export interface TenantConnectionsOptions {
  /** The service's own connections to the same server. */
  readonly pool: Pool;
  /** Those to the primary, for roles, grants and settings, if that is another server. */
  readonly primary?: TenantConnections;
  readonly connector: Connector;
  /** Connects to PostgreSQL directly, for schema changes. */
  readonly direct: Connector;
  readonly settings: SessionSettings;
  /** Whether `connector` leads to a pooler: the settings are then defaults that a role gets with its login. */
  readonly isPooled: boolean;
  readonly keyRing: KeyRing;
  /** Connections of all logins together. */
  readonly max: number;
  readonly acquireTimeoutMs: number;
  readonly log: Logger;
}

/** Maximum shares of the budget: of one tenant, so that it alone never blocks the others; of one tenant's own login; of all such logins. */
const MAX_SHARE_PER_TENANT = 0.75;
const MAX_SHARE_PER_LOGIN = 0.5;
const MAX_SHARE_OF_OWN = 0.75;
const MIN_PER_LOGIN = 2;
/** A session keeps the catalogs of each tenant that it serves in memory, 56 KiB for 30 tables, until it ends. */
const MAX_TENANTS_SERVED = 500;

/**
 * The connections that run tenants' statements. A tenant whose schema is plain is served by shared
 * connections, which switch to its role; any other tenant only by connections logged in as its role, which can't switch to
 * another. PostgreSQL enforces the choice when a connection switches roles; here it is only remembered.
 */
export class TenantConnections {
  /** Seeds the hashes of schemas: the same in all processes, and unknown to tenants. */
  readonly fingerprintSeed: bigint;
  readonly #pool: ConnectionPool;
  readonly #logins: TenantLogins;
  #names: RoleNames | undefined;
  /** Tenants that shared connections can't serve, by decision of `settle` or because PostgreSQL just refused one. */
  readonly #own = new Map<number, 'settled' | 'refused'>();
  /** By tenant, if its schema's owner has any. */
  readonly #settings = new Map<number, OwnerSettings>();

  constructor(private readonly options: TenantConnectionsOptions) {
    const { keyRing, max, log } = options;
    this.fingerprintSeed = keyRing.number('schema fingerprints');
    this.#logins = new TenantLogins({ ...options, pool: options.primary?.options.pool ?? options.pool });
    this.#pool = new ConnectionPool({
      max,
      maxPerTenant: this.maxPerTenant,
      maxPerLogin: Math.min(max, Math.max(MIN_PER_LOGIN, Math.floor(max * MAX_SHARE_PER_LOGIN))),
      maxOwn: Math.max(1, Math.floor(max * MAX_SHARE_OF_OWN)),
      acquireTimeoutMs: options.acquireTimeoutMs,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      maxTenantsServed: MAX_TENANTS_SERVED,
      connect: async (login) => {
        const client = await this.#logins.connect(login);
        limitMessages(client);
        breakOnCanceledReplicationWait(client);
        return client;
      },
      // For example, PostgreSQL restarted; the next use opens another connection.
      onIdleError: (error) => log.warn({ err: error }, 'an idle database connection broke'),
    });
  }

  /** Whether they lead to a standby of the primary. */
  get isReplica(): boolean {
    return this.options.primary !== undefined;
  }

  /** Maximum connections of all tenants together. */
  get max(): number {
    return this.options.max;
  }

  /** Maximum connections that one tenant uses at a time. */
  get maxPerTenant(): number {
    return Math.max(1, Math.floor(this.options.max * MAX_SHARE_PER_TENANT));
  }

  /** Connections in use, and requests waiting for one. */
  get use(): { readonly inUse: number; readonly waiting: number } {
    return { inUse: this.#pool.inUse, waiting: this.#pool.waitingCount };
  }

  async names(): Promise<RoleNames> {
    this.#names = await this.#logins.names();
    return this.#names;
  }

  /** The database may have been replaced by one with other role names. The old names are used until the new ones are read. */
  forgetNames(): void {
    this.#logins.forgetNames();
  }

  /** The tenant's role. Known once a connection has been acquired. */
  role(tenantid: number): string {
    if (!this.#names) throw new Error('the names of roles are not known yet');
    return this.#names.tenant(tenantid);
  }

  /** What `useSettings` was last told. */
  settingsOf(tenantid: number): OwnerSettings | undefined {
    return (this.options.primary ?? this).#settings.get(tenantid);
  }

  /** The tenant's transactions have these settings from now on. */
  useSettings(tenantid: number, settings: OwnerSettings | undefined): void {
    if (settings) this.#settings.set(tenantid, settings);
    else this.#settings.delete(tenantid);
  }

  loginOf(tenantid: number): Login {
    return this.#own.has(tenantid) ? tenantid : 'shared';
  }

  /** @param tenantid null for the service's own tables. Throws what pg throws. */
  async acquire(tenantid: number | null): Promise<Lease> {
    if (tenantid === null) return this.#acquireService();
    if (!this.#names) await this.names();
    try {
      return await this.#pool.acquire(this.loginOf(tenantid), tenantid);
    } catch (error) {
      if (!(error instanceof ServedBySharedLogin)) throw error;
      this.#own.delete(tenantid);
      return this.#pool.acquire('shared', tenantid);
    }
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

  /** Checks that the shared login can connect. Throws what pg throws. */
  async checkSharedLogin(): Promise<void> {
    (await this.acquireShared()).release(true);
  }

  /** Acquires a connection of the shared login that serves no tenant yet. Throws what pg throws. */
  acquireShared(): Promise<Lease> {
    return this.#pool.acquire('shared');
  }

  /** Whether a request waits for a connection of this kind. */
  isBusy(tenantid: number | null): boolean {
    return (tenantid === null ? this.options.pool : this.#pool).waitingCount > 0;
  }

  /** Notes that PostgreSQL did not let a shared connection switch to the tenant's role. */
  refused(tenantid: number): void {
    if (!this.#own.has(tenantid)) this.#own.set(tenantid, 'refused');
  }

  /** Whether `settle` must be called although the schema has not changed. */
  needsGrants(tenantid: number): boolean {
    return this.#own.get(tenantid) === 'refused';
  }

  /** Decides from the schema's objects which connections serve the tenant. Throws what pg throws. */
  async settle(tenantid: number, schema: string): Promise<void> {
    this.#remember(
      tenantid,
      await settleSharedAccess(this.options.pool, await this.names(), { tenantid, schema }),
    );
  }

  /**
   * Whether some process settled the schema with this fingerprint, and PostgreSQL's roles are still in the state that left
   * them in. Throws what pg throws.
   */
  async isSettled(tenantid: number, fingerprint: string): Promise<boolean> {
    const access = await readGrantState(this.options.pool, await this.names(), tenantid, fingerprint);
    if (access === undefined) return false;
    this.#remember(tenantid, access);
    return true;
  }

  /** Saves other processes the cost of `settle`. Throws what pg throws. */
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

  /** Opens a connection past the pooler, logged in as the tenant: its code can become nobody else there. Throws what pg throws. */
  connectDirectly(tenantid: number): Promise<pg.Client> {
    return this.#logins.connectDirectly(tenantid);
  }

  /** Runs `change` on a dedicated connection, logged in as the tenant, while no shared connection serves the tenant. */
  async changeSchema<T>(tenantid: number, change: (client: pg.Client) => Promise<T>): Promise<T> {
    const { pool, direct } = this.options;
    return withoutSharedAccess(pool, direct, await this.names(), tenantid, {
      // For requests. The tenant itself may block it for a while: `change` logs in anyway, or fails.
      begin: () => this.#logins.enable(tenantid).catch(() => undefined),
      change: async () => {
        const client = await this.connectDirectly(tenantid);
        try {
          return await change(client);
        } finally {
          await client.end();
        }
      },
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
