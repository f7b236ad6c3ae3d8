import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import { AppError } from '../../foundation/errors.js';
import type { ProviderClient } from './providerClient.js';

export const ABSENT = Symbol('the URL has no discovery document');
export const NO_RESPONSE = Symbol('the provider gave no response');
export type DiscoveryDocument = Readonly<Record<string, unknown>> & { readonly issuer: string };
/** A document, or why there is none. */
export type Found = DiscoveryDocument | typeof ABSENT | typeof NO_RESPONSE;

const WELL_KNOWN = '/.well-known/openid-configuration';

export const isDocument = (found: Found): found is DiscoveryDocument => typeof found === 'object';

/** Where the document of an issuer is, without the path that all have. */
export function placeOf(issuer: string): string {
  return issuer.replace(/\/$/, '');
}

/** The document must be at the URL derived from its issuer (OpenID Connect Discovery 4.3), and name the configured keys. */
export async function readDiscoveryDocument(
  callProvider: ProviderClient,
  place: string,
  provider: OidcProvider,
): Promise<Found> {
  const address = place + WELL_KNOWN;
  // An issuer is compared as text, and need not be an address.
  if (!URL.canParse(address) || !/^https?:/.test(address)) return ABSENT;
  const url = new URL(address);
  try {
    const response = await callProvider(url, { method: 'GET', headers: { accept: 'application/json' } });
    if (response.status >= 500 || response.status === 429) return NO_RESPONSE;
    if (response.status !== 200) return ABSENT;
    const document = JSON.parse(response.text) as Readonly<Record<string, unknown>>;
    const { issuer, jwks_uri } = document;
    if (typeof issuer !== 'string' || jwks_uri !== provider.jwks_uri) return ABSENT;
    if (issuer !== (provider.issuer ?? issuer) || placeOf(issuer) !== place) return ABSENT;
    return { ...document, issuer };
  } catch (error) {
    if (error instanceof AppError) return NO_RESPONSE;
    // No document.
    if (error instanceof SyntaxError || error instanceof TypeError) return ABSENT;
    throw error;
  }
}
