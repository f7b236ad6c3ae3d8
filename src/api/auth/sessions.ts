import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config/config.js';
import type { Database } from '../../db/pool/database.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import {
  insertSession,
  renewSession,
  storeSessionUses,
  type NewSession,
} from '../../db/roles/signIn/sessions.js';
import type { Clock } from '../../foundation/clock.js';
import { AppError } from '../../foundation/errors.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import type { Logger } from '../../foundation/observability/log.js';
import { clientAddress } from '../http/clientAddress.js';
import type { TokenClaims, TokenOrigin } from './tokens.js';

export interface SessionsDeps {
  readonly database: Pick<Database, 'pool'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly config: Pick<Config, 'accessTokenSeconds' | 'refreshTokenSeconds' | 'trustProxy'>;
}

/** How somebody signed in. */
export interface SessionOptions {
  readonly isConsole?: boolean;
  /** The configuration of the provider; a password if omitted. */
  readonly confid?: number;
  /** If it is not now. */
  readonly authTimeMs?: number;
}

const MAX_BROWSER_CHARACTERS = 300;
/** How often it is stored when sessions were last used: a request with a token writes nothing. */
const STORE_MS = 60_000;
/** Used meanwhile, in this process. */
const MAX_USED = 100_000;

/** Where roles are signed in. Anonymous clients, who are all one role, have no sessions. */
export class Sessions implements Stoppable {
  #usedAtMs = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly deps: SessionsDeps) {
    this.#timer = setInterval(() => void this.#storeUses(), STORE_MS).unref();
  }

  /** A new one. @returns what its tokens come from */
  async begin(
    req: IncomingMessage,
    principal: Principal,
    { isConsole = false, confid, authTimeMs = this.deps.clock.now() }: SessionOptions = {},
  ): Promise<TokenOrigin> {
    if (isAnonymous(principal)) return {};
    const { tenantid, roleid, tokensValidFromMs } = principal;
    const sessionid = await insertSession(this.deps.database.pool, {
      tenantid,
      roleid,
      isConsole,
      confid: confid ?? null,
      sinceMs: authTimeMs,
      stateMs: tokensValidFromMs,
      ...this.#now(req),
    });
    return { sessionid };
  }

  /**
   * That of a refresh token, which is about to be exchanged for new tokens. Those of earlier releases have none, and get one.
   * Throws AppError TOKEN_REVOKED.
   */
  async renew(req: IncomingMessage, principal: Principal, claims: TokenClaims): Promise<TokenOrigin> {
    const { sessionid, tenantid, authTimeMs } = claims;
    if (sessionid === undefined) return { ...claims, ...(await this.begin(req, principal, { authTimeMs })) };
    if (await renewSession(this.deps.database.pool, { tenantid, sessionid }, this.#now(req))) return claims;
    throw new AppError('TOKEN_REVOKED', 'The token was revoked.');
  }

  /** Remembers that a session was used now. */
  noteUse(sessionid: string): void {
    if (this.#usedAtMs.size < MAX_USED) this.#usedAtMs.set(sessionid, this.deps.clock.now());
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#storeUses();
  }

  #now(req: IncomingMessage): Pick<NewSession, 'browser' | 'address' | 'expiresAtMs'> {
    const { config, clock } = this.deps;
    const longestSeconds = Math.max(config.refreshTokenSeconds, config.accessTokenSeconds);
    return {
      browser: (req.headers['user-agent'] ?? '').slice(0, MAX_BROWSER_CHARACTERS),
      address: clientAddress(req, config.trustProxy),
      expiresAtMs: clock.now() + longestSeconds * 1000,
    };
  }

  async #storeUses(): Promise<void> {
    const usedAtMs = this.#usedAtMs;
    if (usedAtMs.size === 0) return;
    this.#usedAtMs = new Map();
    try {
      await storeSessionUses(this.deps.database.pool, usedAtMs);
    } catch (error) {
      this.deps.log.warn({ err: error }, 'the last uses of sessions could not be stored');
    }
  }
}
