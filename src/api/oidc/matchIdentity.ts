import type { JWTPayload } from 'jose';
import { oidcFailure } from './oidcFailure.js';

/**
 * Whether the claim that the provider is compared by says what the role's mapping says. Neither value is told.
 * Throws AppError OIDC_CLAIM_MISSING, OIDC_IDENTITY_MISMATCH.
 */
export function matchIdentity(claims: JWTPayload, comparisonField: string, subId: string): void {
  const value = Object.hasOwn(claims, comparisonField) ? claims[comparisonField] : undefined;
  if (typeof value !== 'string') {
    throw oidcFailure('OIDC_CLAIM_MISSING', `The ID token has no text in the claim "${comparisonField}".`);
  }
  if (value !== subId) {
    throw oidcFailure('OIDC_IDENTITY_MISMATCH', 'The identity at the provider is not the one of this role.');
  }
  // Where users may enter any address, one that is not verified proves nothing.
  if (comparisonField === 'email' && claims['email_verified'] === false) {
    throw oidcFailure(
      'OIDC_IDENTITY_MISMATCH',
      'The provider has not verified the email address.',
      'Let the user verify it there, then sign in again.',
    );
  }
}
