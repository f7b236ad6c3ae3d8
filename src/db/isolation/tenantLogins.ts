import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Pool } from 'pg';
import type { KeyRing } from '../../config/secrets.js';
import type { Login } from '../pool/connectionPool.js';
import type { Connector } from '../pool/connector.js';
import { readRoleNames, type RoleNames } from './roleNames.js';
import {
  asStartupOptions,
  setRoleDefaults,
  withoutSearchPath,
  type SessionSettings,
} from '../pool/sessionSettings.js';
import { letLogIn } from './sharedAccess.js';
import { identifier, statement, textConstant, type SqlText } from '../sql/sql.js';

/** Maximum server connections of one tenant's own login, in all processes together. */
const MAX_CONNECTIONS_PER_TENANT = 50;
/** RFC 7677's minimum: the password is a 256-bit key, which needs no stretching. */
const SCRAM_ITERATIONS = 4096;

/** Maximum wait for a concurrent change of the role. */
const ROLE_LOCK_TIMEOUT_MS = 500;
/** Maximum wait while it is decided who serves the tenant, and how often to check. */
const MAX_CHANGING_MS = 5_000;
const CHANGING_POLL_MS = 20;
/** "tuple concurrently updated": PostgreSQL rejects the later of two concurrent changes of a role. */
const CONCURRENTLY_UPDATED = 'XX000';

/** The role is missing, has no LOGIN, or has another password. */
const REFUSED = new Set(['28000', '28P01']);
/** PgBouncer uses one code for all rejections. */
const POOLER_REFUSES = '08P01';

function isRefused({ code = '', message }: { readonly code?: string; readonly message: string }): boolean {
  return (
    REFUSED.has(code) ||
    (code === POOLER_REFUSES && /authentication failed|no such user|not permitted to log in/i.test(message))
  );
}

/**
 * Opens connections as the installation's own roles. Their passwords are derived from SECRET_KEYS, so none is stored; they
 * are set in PostgreSQL when a login is first needed, and again after key rotation.
 */
export class TenantLogins {
  #names: Promise<RoleNames> | undefined;
  /** By role and condition, while its password is being set. */
  readonly #enabling = new Map<string, Promise<void>>();

  constructor(
    private readonly deps: {
      readonly pool: Pool;
      readonly connector: Connector;
      readonly direct: Connector;
      readonly settings: SessionSettings;
      readonly isPooled: boolean;
      readonly keyRing: KeyRing;
    },
  ) {}

  /** Throws what pg throws. */
  names(): Promise<RoleNames> {
    this.#names ??= readRoleNames(this.deps.pool).catch((error: unknown) => {
      this.#names = undefined;
      throw error;
    });
    return this.#names;
  }

  forgetNames(): void {
    this.#names = undefined;
  }

  /** Opens a connection to serve requests. Throws ServedBySharedLogin, or what pg throws. */
  async connect(login: Login): Promise<pg.Client> {
    if (login === 'shared') return this.#connect(login, this.deps.connector, () => this.enable(login));
    const until = performance.now() + MAX_CHANGING_MS;
    for (;;) {
      try {
        return await this.#connect(login, this.deps.connector, () => this.#enableUnlessShared(login));
      } catch (error) {
        if (!(error instanceof Changing) || performance.now() > until) throw error;
        await delay(CHANGING_POLL_MS);
      }
    }
  }

  /** Opens a connection that bypasses the pooler, if there is one, whoever serves the tenant. Throws what pg throws. */
  connectDirectly(tenantid: number): Promise<pg.Client> {
    return this.#connect(tenantid, this.deps.direct, () => this.enable(tenantid));
  }

  async #connect(login: Login, connector: Connector, enable: () => Promise<void>): Promise<pg.Client> {
    const role = await this.#role(login);
    try {
      return await connected(this.#client(login, role, connector));
    } catch (error) {
      if (!isRefused(error as { code?: string; message: string })) throw error;
      await enable();
      return connected(this.#client(login, role, connector));
    }
  }

  async #role(login: Login): Promise<string> {
    const names = await this.names();
    return login === 'shared' ? names.shared : names.tenant(login);
  }

  #client(login: Login, role: string, connector: Connector): pg.Client {
    const { options } = connector.config;
    return connector.createClient({
      user: role,
      password: this.#password(role),
      pipeline: true,
      ...(options === undefined ? {} : { options: asStartupOptions(this.#settingsOf(login)) }),
    });
  }

  #settingsOf(login: Login): SessionSettings {
    return login === 'shared' ? this.deps.settings : withoutSearchPath(this.deps.settings);
  }

  #password(role: string): string {
    return this.deps.keyRing.password(role, 'database logins');
  }

  /** Sets the login's password. Throws what pg throws. */
  async enable(login: Login): Promise<void> {
    const role = await this.#role(login);
    await this.#once(role, async () => {
      await this.#prepare(login, role);
      // One query, so one transaction.
      await this.deps.pool.query(this.#letLogIn(login, role)).catch(ignoreSameChange);
    });
  }

  async #enableUnlessShared(tenantid: number): Promise<void> {
    const names = await this.names();
    const role = names.tenant(tenantid);
    await this.#once(`${role}, unless shared`, async () => {
      await this.#prepare(tenantid, role);
      const access = await letLogIn(this.deps.pool, names, tenantid, async (client) => {
        await client.query(this.#letLogIn(tenantid, role));
      }).catch((error: unknown) => {
        ignoreSameChange(error);
        return 'changing' as const;
      });
      if (access === 'shared') throw new ServedBySharedLogin();
      if (access === 'changing') throw new Changing();
    });
  }

  #once(what: string, enable: () => Promise<void>): Promise<void> {
    let enabling = this.#enabling.get(what);
    if (!enabling) {
      enabling = enable().finally(() => this.#enabling.delete(what));
      this.#enabling.set(what, enabling);
    }
    return enabling;
  }

  async #prepare(login: Login, role: string): Promise<void> {
    if (this.deps.isPooled) await setRoleDefaults(this.deps.pool, role, this.#settingsOf(login));
  }

  /** It takes no lock that others wait for, since the tenant itself may block a change of its role. */
  #letLogIn(login: Login, role: string): SqlText {
    const verifier = scramVerifier(this.#password(role));
    const limit = login === 'shared' ? -1 : MAX_CONNECTIONS_PER_TENANT;
    return statement`select set_config('lock_timeout', '${ROLE_LOCK_TIMEOUT_MS}', true);
      alter role ${identifier(role)} login connection limit ${limit} password ${textConstant(verifier)}`;
  }
}

function ignoreSameChange(error: unknown): void {
  // Another process has just set the same password.
  if ((error as { code?: string }).code !== CONCURRENTLY_UPDATED) throw error;
}

/** Shared connections serve the tenant: nobody logs in as it. */
export class ServedBySharedLogin extends Error {}

/** Who serves the tenant is being decided. */
class Changing extends Error {}

async function connected(client: pg.Client): Promise<pg.Client> {
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}

/** What PostgreSQL stores for a password (RFC 5802). Sent instead of the password, which is thus in no statement and no log. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const key = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(key('Client Key')).digest();
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey.toString('base64')}:${key('Server Key').toString('base64')}`;
}
