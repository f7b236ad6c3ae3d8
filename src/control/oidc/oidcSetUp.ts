import type { Claims } from './claims.js';

/** What finds out whether a configuration works. Throws AppError OIDC_CONFID_NOT_FOUND, TOO_BUSY. */
export interface OidcSetUp {
  check(tenantid: number, confid: number): Promise<readonly SetUpStep[]>;
  tryClaims(tenantid: number, confid: number, claims: Claims): Promise<TriedSignIn>;
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
