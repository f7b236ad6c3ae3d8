import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { CookieOptions, Response } from 'express';
import type { Principal } from '../../db/roles/principal.js';
import { endUnlistedSession } from '../../db/roles/signIn/endedSessions.js';
import { endSession, type EndedSession } from '../../db/roles/signIn/sessions.js';
import { AppError } from '../../foundation/errors.js';
import type { Authenticator } from '../auth/authenticate.js';
import { requireSignInAllowed } from '../auth/signIn.js';
import type { SessionOptions, Sessions } from '../auth/sessions.js';
import type { Tokens } from '../auth/tokens.js';
import { readCookie } from '../http/readCookie.js';
import type { WebDeps } from '../http/webDeps.js';

/** Who is using the console, and the token that their forms must contain. */
export interface ConsoleSession {
  readonly principal: Principal;
  readonly csrfToken: string;
  /** When the role signed in. */
  readonly authTimeMs: number;
  /** Undefined if an earlier release began it. */
  readonly sessionid: string | undefined;
}

interface ConsoleSessionsDeps extends WebDeps {
  readonly tokens: Tokens;
  readonly authenticator: Authenticator;
  readonly sessions: Sessions;
}

const PURPOSE = 'console session';
/** The tenant, and the sealed token. */
const FORM = /^\d+-([\w-]+)$/;
/** How long a form that was open when its session ended can still be recovered. */
const KNOWN_AFTER_END_MS = 7 * 24 * 3600 * 1000;

/**
 * Sessions of the console: a refresh token, sealed in a cookie that scripts can't read. So a session ends like a token,
 * with the role or its password, and besides when it is signed out.
 */
export class ConsoleSessions {
  readonly #name: string;
  readonly #options: CookieOptions;

  constructor(private readonly deps: ConsoleSessionsDeps) {
    const secure = deps.config.baseUrl.startsWith('https:');
    // The prefix, which browsers only accept over https, prevents sibling subdomains from setting the cookie.
    this.#name = `${secure ? '__Host-' : ''}rowpost_console`;
    // Lax, not Strict: a link to a delivery, for example in a chat, must find the session.
    this.#options = { path: '/', httpOnly: true, sameSite: 'lax', secure };
  }

  /** Always starts a new session, whatever the browser sent before signing in. */
  async begin(
    req: IncomingMessage,
    res: Response,
    principal: Principal,
    options?: SessionOptions,
  ): Promise<void> {
    const origin = await this.deps.sessions.begin(req, principal, { ...options, isConsole: true });
    const token = await this.deps.tokens.issue(principal, 'refresh', origin);
    const maxAge = this.deps.config.refreshTokenSeconds * 1000 + KNOWN_AFTER_END_MS;
    // A front of several cells reads the tenant.
    const value = `${principal.tenantid}-${this.deps.keyRing.seal(token, PURPOSE)}`;
    res.cookie(this.#name, value, { ...this.#options, maxAge });
  }

  /** Ends the session that the request belongs to, for whoever has its cookie. @returns it, unless an earlier release began it */
  async end(req: IncomingMessage, res: Response): Promise<EndedSession | undefined> {
    const token = this.#tokenOf(req);
    res.clearCookie(this.#name, this.#options);
    if (token !== undefined) {
      const { tenantid, sessionid, expiresAtMs } = await this.deps.tokens.verify(token);
      const { database, config } = this.deps;
      if (sessionid === undefined)
        await endUnlistedSession(database.pool, { tokenHash: hashOf(token), tenantid, expiresAtMs });
      else return endSession(database.pool, { tenantid, sessionid }, config.accessTokenSeconds);
    }
    return undefined;
  }

  /** Whether the request comes from a browser that was once signed in; proves nothing else. */
  isEnded(req: IncomingMessage): boolean {
    return this.#tokenOf(req) !== undefined;
  }

  #tokenOf(req: IncomingMessage): string | undefined {
    const [, sealed] = FORM.exec(readCookie(req, this.#name) ?? '') ?? [];
    return sealed === undefined ? undefined : this.deps.keyRing.open(sealed, PURPOSE);
  }

  /** @returns undefined if nobody is signed in any more */
  async read(req: IncomingMessage): Promise<ConsoleSession | undefined> {
    const token = this.#tokenOf(req);
    if (token === undefined) return undefined;
    try {
      const { principal, claims } = await this.deps.authenticator.authenticateToken(token, 'refresh');
      await requireSignInAllowed(this.deps, principal);
      const { authTimeMs, sessionid } = claims;
      if (!(await this.deps.principals.isConsoleSessionOpen(hashOf(token), claims))) return undefined;
      return { principal, csrfToken: csrfTokenOf(token, principal), authTimeMs, sessionid };
    } catch (error) {
      if (error instanceof AppError && ENDED.has(error.code)) return undefined;
      throw error;
    }
  }
}

const ENDED: ReadonlySet<string> = new Set([
  'TOKEN_EXPIRED',
  'TOKEN_REVOKED',
  'TOKEN_INVALID',
  'TOKEN_MALFORMED',
  'PERMISSION_DENIED',
  'TENANT_SUSPENDED',
]);

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Derived from the token, which the browser only has in sealed form; says whose form it is, for when it is sent in vain. */
function csrfTokenOf(token: string, { tenantid }: Principal): string {
  return `${tenantid}.${createHmac('sha256', token).update('console forms').digest('base64url')}`;
}
