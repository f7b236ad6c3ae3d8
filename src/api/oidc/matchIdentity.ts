import type { JWTPayload } from 'jose';
import { isText } from '../../control/oidc/claims.js';
import type { Identity } from '../../control/oidc/identity.js';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import { ownValue } from '../../foundation/ownValue.js';
import { oidcFailure } from './oidcFailure.js';

/**
 * The claim that identifies the person. Addresses that differ by the case of ASCII letters only are one.
 * @param subId the identity of the role that signs in, which it must be; of any if undefined. Discloses neither value.
 * Throws AppError OIDC_CLAIM_MISSING, OIDC_IDENTITY_MISMATCH.
 */
export function matchIdentity(
  claims: JWTPayload,
  { comparison_field: comparisonField, email_always_verified: alwaysVerified }: OidcProvider,
  subId: string | undefined,
): Pick<Identity, 'subId' | 'isAddress'> {
  const value = textIn(claims, comparisonField);
  const isAddress = comparisonField === 'email';
  // By which UserInfo and logout tokens name the person, whichever claim identifies them here.
  if (ownValue(claims, 'sub') !== undefined) textIn(claims, 'sub');
  const isSame = value === subId || (isAddress && asciiLower(value) === asciiLower(subId ?? ''));
  if (subId !== undefined && !isSame) {
    throw oidcFailure('OIDC_IDENTITY_MISMATCH', 'The identity at the provider is not the one of this role.');
  }
  // Where users may enter any address, an unverified one proves nothing. Only `true` counts as verified: OpenID Connect
  // Core 5.1 defines a boolean, and other types are provider-specific.
  const verified = claims['email_verified'];
  const isProof = !isAddress || verified === true || (verified === undefined && alwaysVerified);
  if (!isProof) {
    throw oidcFailure(
      'OIDC_IDENTITY_MISMATCH',
      'The provider does not say that the email address is verified.',
      'Let the user verify it there, then sign in again; email_always_verified is for providers that never say it.',
    );
  }
  return { subId: value, isAddress };
}

function textIn(claims: JWTPayload, name: string): string {
  const value = ownValue(claims, name);
  if (isText(value) && value !== '') return value;
  throw oidcFailure('OIDC_CLAIM_MISSING', `The ID token has no text in the claim "${name}".`);
}

const asciiLower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
