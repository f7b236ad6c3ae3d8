import type { Principal, PrincipalSource } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import { findHolder } from './findHolder.js';
import type { Sessions } from './sessions.js';
import type { TokenClaims, Tokens, TokenType } from './tokens.js';

/** Who sent a request, and what its token says besides. */
export interface Authenticated {
  readonly principal: Principal;
  readonly claims: TokenClaims;
}

/** Resolves an Authorization header to a principal. */
export class Authenticator {
  constructor(
    private readonly tokens: Tokens,
    private readonly principals: PrincipalSource,
    private readonly sessions: Pick<Sessions, 'noteUse'>,
  ) {}

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
    for (const actor of claims.actors) {
      if (!(await findHolder(this.principals, { ...actor, tenantid: claims.tenantid }))) throw revoked();
    }
    if (!principal) throw revoked();
    requireActiveTenant(principal);
    if (claims.sessionid !== undefined) this.sessions.noteUse(claims.sessionid);
    return { principal, claims };
  }
}

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
