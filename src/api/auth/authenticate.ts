import { isNobody, type Principal, type PrincipalSource } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import type { Tokens, TokenType } from './tokens.js';

/** Who sends a request. */
export interface Client {
  readonly principal: Principal;
  /** Which of the anonymous clients, who are one role. Empty for other roles. */
  readonly visitor: string;
}

/** Resolves an Authorization header to a principal. */
export class Authenticator {
  constructor(
    private readonly tokens: Tokens,
    private readonly principals: PrincipalSource,
  ) {}

  /** Throws AppError TOKEN_MISSING, TOKEN_MALFORMED, TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_WRONG_TYPE, TOKEN_REVOKED, TENANT_SUSPENDED. */
  async authenticate(authorization: string | undefined, type: TokenType): Promise<Principal> {
    return (await this.identify(authorization, type)).principal;
  }

  /** Throws what `authenticate` throws. */
  async identify(authorization: string | undefined, type: TokenType): Promise<Client> {
    return this.#resolve(bearerToken(authorization), type);
  }

  async authenticateToken(token: string, type: TokenType): Promise<Principal> {
    return (await this.#resolve(token, type)).principal;
  }

  async #resolve(token: string, type: TokenType): Promise<Client> {
    const claims = await this.tokens.verify(token);
    if (claims.type !== type) {
      throw new AppError(
        'TOKEN_WRONG_TYPE',
        `This needs ${A[type]} token; ${A[claims.type]} token was sent.`,
      );
    }
    const principal = await this.principals.load(claims.tenantid, claims.roleid);
    if (!principal || claims.tokensValidFromMs < principal.tokensValidFromMs) {
      throw new AppError('TOKEN_REVOKED', 'The token was revoked.');
    }
    requireActiveTenant(principal);
    return { principal, visitor: isNobody(principal) ? claims.visitor : '' };
  }
}

/** Throws AppError TENANT_SUSPENDED. */
export function requireActiveTenant({ isSuspended }: Principal): void {
  if (isSuspended) throw new AppError('TENANT_SUSPENDED', 'The tenant is suspended.');
}

const A: Readonly<Record<TokenType, string>> = { access: 'an access', refresh: 'a refresh' };

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (token !== undefined) return token;
  if (/^Bearer\b/i.test(authorization ?? '')) {
    throw new AppError('TOKEN_MALFORMED', 'The Authorization header holds no token.');
  }
  throw new AppError('TOKEN_MISSING', 'The request has no bearer token.');
}
