import type { JWTPayload } from 'jose';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import { ownValue } from '../../foundation/ownValue.js';
import { oidcFailure } from './oidcFailure.js';

/**
 * The claim that identifies the person.
 * @param subId the identity of the role that signs in, which it must be; of any if undefined. Discloses neither value.
 * Throws AppError OIDC_CLAIM_MISSING, OIDC_IDENTITY_MISMATCH.
 */
export function matchIdentity(
  claims: JWTPayload,
  { comparison_field: comparisonField, email_always_verified: alwaysVerified }: OidcProvider,
  subId: string | undefined,
): string {
  const value = ownValue(claims, comparisonField);
  if (typeof value !== 'string' || value === '') {
    throw oidcFailure('OIDC_CLAIM_MISSING', `The ID token has no text in the claim "${comparisonField}".`);
  }
  if (subId !== undefined && value !== subId) {
    throw oidcFailure('OIDC_IDENTITY_MISMATCH', 'The identity at the provider is not the one of this role.');
  }
  // Where users may enter any address, an unverified one proves nothing. Only `true` counts as verified: OpenID Connect
  // Core 5.1 defines a boolean, and other types are provider-specific.
  const verified = claims['email_verified'];
  const isProof =
    comparisonField !== 'email' || verified === true || (verified === undefined && alwaysVerified);
  if (!isProof) {
    throw oidcFailure(
      'OIDC_IDENTITY_MISMATCH',
      'The provider does not say that the email address is verified.',
      'Let the user verify it there, then sign in again; email_always_verified is for providers that never say it.',
    );
  }
  return value;
}
