import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Pool } from 'pg';
import type { KeyRing } from '../../secrets.js';
import type { Login } from './connectionPool.js';
import type { Connector } from './connector.js';
import { readRoleNames, type RoleNames } from './roleNames.js';
import {
  asStartupOptions,
  setRoleDefaults,
  withoutSearchPath,
  type SessionSettings,
} from './sessionSettings.js';
import { identifier, statement, textConstant } from '../sql.js';

/** Maximum server connections of one tenant's own login, in all processes together. */
const MAX_CONNECTIONS_PER_TENANT = 50;
/** RFC 7677's minimum: the password is a 256-bit key, which needs no stretching. */
const SCRAM_ITERATIONS = 4096;

/** Maximum wait for a concurrent change of the role. */
const ROLE_LOCK_TIMEOUT_MS = 500;
/** "tuple concurrently updated": PostgreSQL rejects the later of two concurrent changes of a role. */
const CONCURRENTLY_UPDATED = 'XX000';

/** The role is missing, has no LOGIN, or has another password. */
const REFUSED = new Set(['28000', '28P01']);
/** PgBouncer uses one code for all rejections. */
const POOLER_REFUSES = '08P01';

function isRefused({ code = '', message }: { readonly code?: string; readonly message: string }): boolean {
  return (
    REFUSED.has(code) || (code === POOLER_REFUSES && /authentication failed|no such user/i.test(message))
  );
}

/**
 * Opens connections as the installation's own roles. Their passwords are derived from SECRET_KEYS, so none is stored; they
 * are set in PostgreSQL when a login is first needed, and again after key rotation.
 */
export class TenantLogins {
  #names: Promise<RoleNames> | undefined;
  /** By role, while its password is being set. */
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

  /** Opens a connection. Throws what pg throws. */
  connect(login: Login): Promise<pg.Client> {
    return this.#connect(login, this.deps.connector);
  }

  /** Opens a connection that bypasses the pooler, if there is one. Throws what pg throws. */
  connectDirectly(login: Login): Promise<pg.Client> {
    return this.#connect(login, this.deps.direct);
  }

  async #connect(login: Login, connector: Connector): Promise<pg.Client> {
    const names = await this.names();
    const role = login === 'shared' ? names.shared : names.tenant(login);
    try {
      return await connected(this.#client(login, role, connector));
    } catch (error) {
      if (!isRefused(error as { code?: string; message: string })) throw error;
      await this.#enableLoginOnce(login, role);
      return connected(this.#client(login, role, connector));
    }
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

  #enableLoginOnce(login: Login, role: string): Promise<void> {
    let enabling = this.#enabling.get(role);
    if (!enabling) {
      enabling = this.#enableLogin(login, role).finally(() => this.#enabling.delete(role));
      this.#enabling.set(role, enabling);
    }
    return enabling;
  }

  async #enableLogin(login: Login, role: string): Promise<void> {
    const verifier = scramVerifier(this.#password(role));
    const limit = login === 'shared' ? -1 : MAX_CONNECTIONS_PER_TENANT;
    const { pool, isPooled } = this.deps;
    if (isPooled) await setRoleDefaults(pool, role, this.#settingsOf(login));
    // One query, so one transaction. It takes no lock that others wait for, since the tenant itself may block a change of its role.
    await pool
      .query(
        statement`select set_config('lock_timeout', '${ROLE_LOCK_TIMEOUT_MS}', true);
         alter role ${identifier(role)} login connection limit ${limit} password ${textConstant(verifier)}`,
      )
      .catch((error: unknown) => {
        // Another process has just set the same password.
        if ((error as { code?: string }).code !== CONCURRENTLY_UPDATED) throw error;
      });
  }
}

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
