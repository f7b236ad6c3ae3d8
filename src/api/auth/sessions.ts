import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { JWTPayload } from 'jose';
import type { Config } from '../../config/config.js';
import type { KeyRing } from '../../config/secrets.js';
import { endSessionUri, type OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import type { Database } from '../../db/pool/database.js';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import {
  endIfLoggedOut,
  insertSession,
  limitSessions,
  renewSession,
  storeSessionUses,
  type NewSession,
  type SessionAtProvider,
} from '../../db/roles/signIn/sessions.js';
import { recordSignInEvents } from '../../db/roles/signIn/signInEvents.js';
import type { Clock } from '../../foundation/clock.js';
import { AppError } from '../../foundation/errors.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import type { Logger } from '../../foundation/observability/log.js';
import { clientAddress } from '../http/clientAddress.js';
import { sha256 } from '../oidc/browserBinding.js';
import { authTimeMs } from '../oidc/verifyIdToken.js';
import type { TokenClaims, TokenOrigin } from './tokens.js';

export interface SessionsDeps {
  readonly database: Pick<Database, 'pool'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly keyRing: KeyRing;
  readonly config: Pick<Config, 'accessTokenSeconds' | 'refreshTokenSeconds' | 'trustProxy'>;
}

/** How somebody signed in. */
export interface SessionOptions {
  readonly isConsole?: boolean;
  /** At a provider; with a password if omitted. */
  readonly atProvider?: ProviderSignIn;
  /** If it is not now. */
  readonly authTimeMs?: number;
}

/** What a provider said of the person who signed in. */
export interface ProviderSignIn {
  readonly registration: OidcRegistration;
  readonly confid: number;
  readonly idToken: string;
  /** Of the ID token, verified. */
  readonly claims: JWTPayload;
}

/** Of an address where a provider is asked to sign out, ID token included: Microsoft Entra refuses long ones (AADSTS90015). */
export const MAX_END_SESSION_CHARACTERS = 2_000;
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

  /** A new one. @returns what its tokens come from. Throws AppError OIDC_LOGIN_REFUSED if the provider has already ended it. */
  async begin(
    req: IncomingMessage,
    principal: Principal,
    { isConsole = false, atProvider, authTimeMs = this.deps.clock.now() }: SessionOptions = {},
  ): Promise<TokenOrigin> {
    if (isAnonymous(principal)) return {};
    const { tenantid, roleid, tokensValidFromMs } = principal;
    const { pool } = this.deps.database;
    const sessionid = randomUUID();
    const session = {
      sessionid,
      tenantid,
      roleid,
      isConsole,
      confid: atProvider?.confid ?? null,
      sinceMs: authTimeMs,
      stateMs: tokensValidFromMs,
      atProvider: atProvider && this.#sessionAtProvider(sessionid, atProvider),
      ...this.#now(req),
    };
    await insertSession(pool, session);
    const { accessTokenSeconds } = this.deps.config;
    if (atProvider) await limitSessions(pool, { confid: atProvider.confid, sessionid, accessTokenSeconds });
    if (atProvider && (await endIfLoggedOut(pool, sessionid)))
      throw new AppError('OIDC_LOGIN_REFUSED', 'You have signed out at the provider. Sign in again.');
    await recordSignInEvents(pool, [
      { tenantid, roleid, kind: 'signed_in', confid: atProvider?.confid, address: session.address },
    ]);
    return { sessionid };
  }

  /**
   * That of a refresh token, which is about to be exchanged for new tokens. Those of earlier releases have none, and get one.
   * Throws AppError TOKEN_REVOKED.
   */
  async renew(req: IncomingMessage, principal: Principal, claims: TokenClaims): Promise<TokenOrigin> {
    const { sessionid, tenantid, authTimeMs } = claims;
    if (sessionid === undefined) return { ...claims, ...(await this.begin(req, principal, { authTimeMs })) };
    const { database, config } = this.deps;
    const key = { tenantid, sessionid };
    if (await renewSession(database.pool, key, this.#now(req), config.accessTokenSeconds)) return claims;
    throw new AppError('TOKEN_REVOKED', 'The token was revoked.');
  }

  /** Remembers that a session or an API key was used now. */
  noteUse(sessionid: string): void {
    if (this.#usedAtMs.size < MAX_USED) this.#usedAtMs.set(sessionid, this.deps.clock.now());
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#storeUses();
  }

  #sessionAtProvider(
    sessionid: string,
    { registration, idToken, claims }: ProviderSignIn,
  ): SessionAtProvider {
    const { sid, sub, iat = 0 } = claims;
    const isAsked = endSessionUri(registration) !== undefined && idToken.length <= MAX_END_SESSION_CHARACTERS;
    return {
      sidHash: typeof sid === 'string' ? sha256(sid) : null,
      subHash: sub === undefined ? null : sha256(sub),
      issuedAtMs: iat * 1000,
      authTimeMs: authTimeMs(claims),
      idTokenEncrypted: isAsked ? this.deps.keyRing.encrypt(idToken, idTokenContext(sessionid)) : null,
    };
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

export function idTokenContext(sessionid: string): string {
  return `session:${sessionid}`;
}
