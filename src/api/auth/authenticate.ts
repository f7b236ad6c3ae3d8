import { LRUCache } from 'lru-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { actingBy } from '../../db/roles/actingBy.js';
import { exceeds } from '../../db/roles/exceeds.js';
import type { Principal, PrincipalSource } from '../../db/roles/principal.js';
import { API_KEY_PREFIX, readApiKey } from '../../foundation/apiKeyText.js';
import type { Clock } from '../../foundation/clock.js';
import { AppError, rateLimited } from '../../foundation/errors.js';
import type { UnidentifiedTurns } from '../http/unidentifiedTurns.js';
import { findHolder } from './findHolder.js';
import type { Sessions } from './sessions.js';
import type { TokenClaims, Tokens, TokenType } from './tokens.js';

/** Who sent a request, and what its token says besides. */
export interface Authenticated {
  readonly principal: Principal;
  readonly claims: TokenClaims;
}

/** Of keys that work, so that somebody who guesses at the same address doesn't lock them out. */
const MAX_GOOD_KEYS = 10_000;
const GUESS_WINDOW_SECONDS = 60;

/** Resolves an Authorization header to a principal. */
export class Authenticator {
  readonly #guesses: RateLimiterMemory | undefined;
  readonly #good = new LRUCache<string, true>({ max: MAX_GOOD_KEYS });
  /** Roles that may do what another may not, as both were just read: a dead token must not have them read with each request. */
  readonly #exceeding = new WeakMap<Principal, WeakSet<Principal>>();

  /** @param options.signInsPerAddress wrong API keys that an address may send in a minute, before nothing is looked up; 0 for no limit */
  constructor(
    private readonly tokens: Tokens,
    private readonly principals: PrincipalSource,
    private readonly sessions: Pick<Sessions, 'noteUse'>,
    private readonly options: {
      readonly clock: Clock;
      readonly signInsPerAddress: number;
      readonly turns: Pick<UnidentifiedTurns, 'ofAddress'>;
    },
  ) {
    const { signInsPerAddress: points } = options;
    if (points > 0) this.#guesses = new RateLimiterMemory({ points, duration: GUESS_WINDOW_SECONDS });
  }

  /**
   * Of a request for data: an access token or an API key. Throws AppError as `authenticate`, and RATE_LIMITED.
   * @param address of the client
   */
  async authenticateCaller(authorization: string | undefined, address: string): Promise<Authenticated> {
    const token = bearerToken(authorization);
    return token.startsWith(API_KEY_PREFIX)
      ? this.#byKey(token, address)
      : this.authenticateToken(token, 'access');
  }

  /** The keys of a role are read with it, so a role that is known costs no statement. */
  async #byKey(text: string, address: string): Promise<Authenticated> {
    const given = readApiKey(text);
    if (!given) throw new AppError('TOKEN_MALFORMED', 'The API key is incomplete or mistyped.', MAKE_KEY);
    const { tenantid, roleid, hash } = given;
    const load = (): Promise<Principal | undefined> => this.principals.load(tenantid, roleid);
    const principal = await (this.#good.has(hash) ? load() : this.#inTurn(address, load));
    const key = principal?.apiKeys.find((each) => each.hash === hash);
    const isGood =
      principal &&
      key &&
      key.stateMs >= principal.tokensValidFromMs &&
      (key.expiresMs ?? Infinity) > this.options.clock.now();
    if (!isGood) {
      this.#good.delete(hash);
      // Rejects once they are too many: the next one is refused above.
      await this.#guesses?.consume(address).catch(() => undefined);
      throw new AppError('TOKEN_REVOKED', 'There is no such API key, or no more.', MAKE_KEY);
    }
    requireActiveTenant(principal);
    this.#good.set(hash, true);
    this.sessions.noteUse(key.keyid);
    const claims: TokenClaims = {
      type: 'access',
      tenantid,
      roleid,
      tokensValidFromMs: key.stateMs,
      sessionid: undefined,
      keyid: key.keyid,
      // Nobody has just shown who it is.
      authTimeMs: 0,
      actors: [],
      notBeforeMs: 0,
      expiresAtMs: key.expiresMs ?? Infinity,
      client: key.keyid,
    };
    return { principal: actingBy(principal, key), claims };
  }

  /** Looks up a key that may be a guess. The key itself says which tenant's it is, so guesses of many tenants would pass for many clients. */
  #inTurn<T>(address: string, lookUp: () => Promise<T>): Promise<T> {
    const { turns, signInsPerAddress } = this.options;
    return turns.ofAddress(address, async () => {
      const known = await this.#guesses?.get(address);
      if (known && known.consumedPoints >= signInsPerAddress)
        throw rateLimited('Too many wrong API keys.', known.msBeforeNext);
      return lookUp();
    });
  }

  /** Whether a role may do what the one that acts as it may not. It could not when the token was issued. */
  async #exceeds(principal: Principal, actor: Principal): Promise<boolean> {
    if (!exceeds(principal, actor)) return false;
    if (this.#exceeding.get(principal)?.has(actor)) return true;
    // Or one was read before a change that both have in common.
    const { tenantid } = principal;
    const [now, actorNow] = [
      await this.principals.reload(tenantid, principal.roleid),
      await this.principals.reload(tenantid, actor.roleid),
    ];
    if (!now || !actorNow) return true;
    if (!exceeds(now, actorNow)) return false;
    this.#exceeding.set(now, (this.#exceeding.get(now) ?? new WeakSet()).add(actorNow));
    return true;
  }

  /** Throws AppError TOKEN_MISSING, TOKEN_MALFORMED, TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_WRONG_TYPE, TOKEN_REVOKED, TENANT_SUSPENDED. */
  async authenticate(authorization: string | undefined, type: TokenType | undefined): Promise<Authenticated> {
    return this.authenticateToken(bearerToken(authorization), type);
  }

  /** @param type either if undefined */
  async authenticateToken(token: string, type: TokenType | undefined): Promise<Authenticated> {
    const claims = await this.tokens.verify(token);
    if (type !== undefined && claims.type !== type) {
      throw new AppError(
        'TOKEN_WRONG_TYPE',
        `This needs ${WITH_ARTICLE[type]} token; ${WITH_ARTICLE[claims.type]} token was sent.`,
      );
    }
    const principal = await findHolder(this.principals, claims);
    if (!principal) throw revoked();
    for (const claimed of claims.actors) {
      const actor = await findHolder(this.principals, { ...claimed, tenantid: claims.tenantid });
      if (!actor || (await this.#exceeds(principal, actor))) throw revoked();
    }
    requireActiveTenant(principal);
    if (claims.sessionid !== undefined) this.sessions.noteUse(claims.sessionid);
    return { principal, claims };
  }
}

const MAKE_KEY = { hint: 'Make a key with create_api_key, or in the console.' };

function revoked(): AppError {
  return new AppError('TOKEN_REVOKED', 'The token was revoked.');
}

/** Throws AppError TENANT_SUSPENDED. */
export function requireActiveTenant({ isSuspended }: Principal): void {
  if (isSuspended) throw new AppError('TENANT_SUSPENDED', 'The tenant is suspended.');
}

const WITH_ARTICLE: Readonly<Record<TokenType, string>> = { access: 'an access', refresh: 'a refresh' };

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  if (/^Bearer\b/i.test(authorization ?? '')) {
    throw new AppError('TOKEN_MALFORMED', 'The Authorization header contains no token.');
  }
  throw new AppError('TOKEN_MISSING', 'The request has no bearer token.');
}
