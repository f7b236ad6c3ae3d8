import { randomBytes } from 'node:crypto';
import {
  CompactSign,
  compactVerify,
  errors,
  type CompactJWSHeaderParameters,
  type CompactVerifyResult,
  type CryptoKey,
} from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../foundation/clock.js';
import type { Config } from '../../config/config.js';
import { INSTALLATION_TENANTID } from '../../control/tenants/installation.js';
import { AppError } from '../../foundation/errors.js';
import type { Credential } from './findHolder.js';
import { SIGNING_ALGORITHM, type SigningKeys } from './signingKeys.js';

export type TokenType = 'access' | 'refresh';

/** The claims of a verified token. */
export interface TokenClaims {
  readonly type: TokenType;
  readonly tenantid: number;
  readonly roleid: number;
  /** That of the role when the token was issued. */
  readonly tokensValidFromMs: number;
  /** The sign-in that it came from; undefined for anonymous clients, tokens for children, and those of earlier releases. */
  readonly sessionid: string | undefined;
  /** The API key that was sent instead of a token. */
  readonly keyid?: string;
  /** When the role last signed in with a password or at an identity provider. */
  readonly authTimeMs: number;
  readonly actors: readonly Actor[];
  readonly notBeforeMs: number;
  readonly expiresAtMs: number;
  /** The client that signed in anonymously, through all refreshes; for other tokens, their own id. */
  readonly client: string;
}

/** A role of the tenant that acts as the token's by `Utility.role_token`. The token ends with its sessions. */
export interface Actor {
  readonly roleid: number;
  readonly tokensValidFromMs: number;
  readonly sessionid?: string | undefined;
  readonly keyid?: string | undefined;
}

/** How a token comes about. */
export interface TokenOrigin {
  /** Now, by default. */
  readonly authTimeMs?: number | undefined;
  readonly actors?: readonly Actor[] | undefined;
  readonly sessionid?: string | undefined;
  /** An anonymous client. */
  readonly client?: string;
}

export interface TokenPair {
  readonly access_token: string;
  readonly refresh_token: string;
}

/**
 * Verifying a signature takes 160 µs, a cache hit less than 1 µs. Most tokens have 450 characters; those with many actors
 * have thousands, and take up to 3 bytes for each.
 */
const MAX_CACHED_CHARACTERS = 10_000_000;
/** Clocks of web processes may differ by this much. */
const CLOCK_TOLERANCE_MS = 30_000;
const MAX_TOKEN_CHARACTERS = 4_096;

/** Issues and verifies the JWTs of the service. */
export class Tokens {
  readonly #verified = new LRUCache<string, TokenClaims>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (_claims, token) => token.length,
  });

  constructor(
    private readonly keys: SigningKeys,
    private readonly config: Pick<Config, 'accessTokenSeconds' | 'refreshTokenSeconds' | 'cell'>,
    private readonly clock: Clock,
  ) {}

  /**
   * @param subject good for the state of the role that the tokens are issued for: a password that is changed meanwhile ends them
   * @param origin of the refresh token that they replace; by default, the role has just signed in
   */
  async issuePair(subject: Credential, origin?: TokenOrigin): Promise<TokenPair> {
    const [access_token, refresh_token] = await Promise.all([
      this.issue(subject, 'access', origin),
      this.issue(subject, 'refresh', origin),
    ]);
    return { access_token, refresh_token };
  }

  async issue(subject: Credential, type: TokenType, origin: TokenOrigin = {}): Promise<string> {
    const { tenantid, roleid, tokensValidFromMs } = subject;
    const now = this.clock.now();
    const { authTimeMs = now, actors = [], client, sessionid } = origin;
    const iat = Math.floor(now / 1000);
    const { accessTokenSeconds, refreshTokenSeconds, cell } = this.config;
    // RFC 7519 requires a string `sub`, but clients of this service expect an object, so the claims are built here.
    const claims = {
      iat,
      nbf: iat,
      exp: iat + (type === 'access' ? accessTokenSeconds : refreshTokenSeconds),
      jti: idWithTimes(tokensValidFromMs, authTimeMs),
      type,
      fresh: false,
      sub: { roleid, tenantid },
      roleid,
      tenantid,
      ...(client === undefined ? {} : { client }),
      ...(actors.length === 0 ? {} : { actors }),
      ...(tenantid === INSTALLATION_TENANTID && cell !== undefined ? { cell } : {}),
    };
    const { kid, privateKey } = await this.keys.signer();
    return (
      new CompactSign(Buffer.from(JSON.stringify(claims)))
        // Not among the claims, whose names clients know.
        .setProtectedHeader({
          alg: SIGNING_ALGORITHM,
          kid,
          typ: 'JWT',
          ...(sessionid === undefined ? {} : { sid: sessionid }),
        })
        .sign(privateKey)
    );
  }

  /** Throws AppError TOKEN_EXPIRED, TOKEN_MALFORMED, TOKEN_INVALID. */
  async verify(token: string): Promise<TokenClaims> {
    if (token.length > MAX_TOKEN_CHARACTERS) throw malformed();
    const known = this.#verified.get(token);
    const claims = known ?? this.#readClaims(await this.#checkSignature(token));
    const now = this.clock.now();
    if (claims.expiresAtMs <= now) {
      this.#verified.delete(token);
      throw new AppError('TOKEN_EXPIRED', 'Token expired.');
    }
    if (claims.notBeforeMs > now + CLOCK_TOLERANCE_MS) {
      throw new AppError('TOKEN_INVALID', 'The token is not valid yet.');
    }
    if (!known) this.#verified.set(token, claims);
    return claims;
  }

  async #checkSignature(token: string): Promise<CompactVerifyResult> {
    try {
      return await compactVerify(token, (header) => this.#verifyingKey(header), {
        algorithms: [SIGNING_ALGORITHM],
      });
    } catch (error) {
      if (error instanceof errors.JWSInvalid) throw malformed(error);
      if (error instanceof errors.JOSEError) {
        throw new AppError('TOKEN_INVALID', 'The token was not signed by this service.', { cause: error });
      }
      throw error;
    }
  }

  /** Cells share their keys, and each has a tenant 0 of its own, whose roles have the same ids. */
  #readClaims(verified: CompactVerifyResult): TokenClaims {
    const { cell, ...claims } = readClaims(verified);
    const { cell: here } = this.config;
    if (claims.tenantid !== INSTALLATION_TENANTID || here === undefined || cell === here) return claims;
    throw new AppError('TOKEN_INVALID', 'The token was issued by another cell.');
  }

  async #verifyingKey(header: CompactJWSHeaderParameters): Promise<CryptoKey> {
    const key = header.kid === undefined ? undefined : await this.keys.verifier(header.kid);
    if (!key) throw new AppError('TOKEN_INVALID', 'The token was not signed by this service.');
    return key;
  }
}

function readClaims({
  payload,
  protectedHeader: { sid },
}: CompactVerifyResult): TokenClaims & { readonly cell: unknown } {
  let claims: Record<string, unknown>;
  try {
    claims = JSON.parse(Buffer.from(payload).toString('utf8')) as Record<string, unknown>;
  } catch (error) {
    throw malformed(error);
  }
  const { type, tenantid, roleid, nbf, exp, jti, cell, client, actors = [] } = claims;
  if (
    (type !== 'access' && type !== 'refresh') ||
    typeof tenantid !== 'number' ||
    typeof roleid !== 'number' ||
    typeof nbf !== 'number' ||
    typeof exp !== 'number' ||
    typeof jti !== 'string' ||
    !Array.isArray(actors)
  ) {
    throw malformed();
  }
  return {
    type,
    tenantid,
    roleid,
    ...timesOfId(jti),
    sessionid: typeof sid === 'string' ? sid : undefined,
    // Signed by this service.
    actors: actors as readonly Actor[],
    notBeforeMs: nbf * 1000,
    expiresAtMs: exp * 1000,
    client: typeof client === 'string' ? client : jti,
    cell,
  };
}

/**
 * A version 7 UUID, which begins with a time in milliseconds: here that of the role's state. It ends with the time of the
 * sign-in in seconds, since clients know the names of all claims.
 */
function idWithTimes(stateMs: number, authTimeMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.floor(stateMs), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  bytes.writeUInt32BE(Math.floor(authTimeMs / 1000), 12);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function timesOfId(id: string): Pick<TokenClaims, 'tokensValidFromMs' | 'authTimeMs'> {
  const tokensValidFromMs = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  const authTimeMs = Number.parseInt(id.slice(-8), 16) * 1000;
  if (Number.isNaN(tokensValidFromMs + authTimeMs)) throw malformed();
  return { tokensValidFromMs, authTimeMs };
}

function malformed(cause?: unknown): AppError {
  return new AppError('TOKEN_MALFORMED', 'The token is malformed.', { cause });
}
