import type { Claims } from './claims.js';
import type { OidcRegistration } from './oidcRegistration.js';

/** Somebody whom a provider has identified, at a sign-in through a configuration. */
export interface Identity {
  readonly tenantid: number;
  readonly confid: number;
  readonly providerid: number;
  /** The claim that the provider's `comparison_field` names. */
  readonly subId: string;
  /** Whether that is an email address. */
  readonly isAddress: boolean;
  readonly claims: Claims;
  /** Those that the provider has elsewhere; undefined if it has none. */
  readonly readMore: () => Promise<Claims | undefined>;
  /** Whether addresses count without `email_verified`. */
  readonly emailAlwaysVerified: boolean;
}

/** The role that signs in, if it is still in this state: what ends its sessions ends a sign-in under way. */
export interface Admitted {
  readonly roleid: number;
  readonly tokensValidFromMs: number;
}

export type Provisioning = NonNullable<OidcRegistration['provisioning']>;
