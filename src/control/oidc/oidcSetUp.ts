import type { Claims } from './claims.js';

/** What finds out whether a configuration works. Throws AppError OIDC_CONFID_NOT_FOUND, TOO_BUSY. */
export interface OidcSetUp {
  check(tenantid: number, confid: number): Promise<readonly SetUpStep[]>;
  tryClaims(tenantid: number, confid: number, claims: Claims): Promise<TriedSignIn>;
  /** What the issuer's discovery document says. Throws AppError BAD_USER_INPUT, OIDC_PROVIDER_ERROR. */
  discover(issuer: string): Promise<ProviderEndpoints>;
}

/** What a discovery document says of its provider. */
export interface ProviderEndpoints {
  readonly issuer: string;
  readonly auth_uri?: string | undefined;
  readonly token_uri?: string | undefined;
  readonly jwks_uri?: string | undefined;
}

export interface SetUpStep {
  readonly step: 'discovery' | 'keys' | 'authorization' | 'client';
  readonly ok: boolean;
  readonly message: string | null;
}

/** What a sign-in with certain claims would do. */
export interface TriedSignIn {
  readonly read: readonly { readonly path: string; readonly values: readonly string[] }[];
  readonly role: RehearsedRole | null;
  readonly refusal: { readonly code: string; readonly message: string } | null;
}

/** A role as a sign-in would leave it. */
export interface RehearsedRole {
  /** Null if it would be new. */
  readonly roleid: number | null;
  readonly login: string | null;
  readonly name: string | null;
  readonly parentid: number | null;
  readonly capabilities: readonly string[];
  readonly classes: readonly number[];
}
