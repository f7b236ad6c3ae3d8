import type { Config } from '../../config/config.js';
import { badInput } from '../../control/derive/badInput.js';
import type { OidcProvider } from '../../control/objects/oidcProviders.js';
import { checkOidcUri } from '../../control/oidc/checkOidcUri.js';
import type { ProviderEndpoints } from '../../control/oidc/oidcSetUp.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
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
  // An issuer is compared as text, and need not be an address.
  if (!/^https?:/.test(place) || !URL.canParse(place)) return ABSENT;
  try {
    const document = await fetchDocument(callProvider, place);
    if (!isDocument(document)) return document;
    const { issuer, jwks_uri } = document;
    const isIts = jwks_uri === provider.jwks_uri && issuer === (provider.issuer ?? issuer);
    return isIts && placeOf(issuer) === place ? document : ABSENT;
  } catch (error) {
    if (error instanceof AppError) return NO_RESPONSE;
    throw error;
  }
}

/** What the document of an issuer says of its provider. Throws AppError BAD_USER_INPUT, OIDC_PROVIDER_ERROR. */
export async function discoverProvider(
  callProvider: ProviderClient,
  config: Pick<Config, 'production' | 'oidcAllowPrivateNetwork'>,
  given: string,
): Promise<ProviderEndpoints> {
  // Somebody may copy the address of the document itself.
  const place = placeOf(checkOidcUri(given, 'issuer', config).replace(WELL_KNOWN, ''));
  const document = await fetchDocument(callProvider, place);
  if (document === NO_RESPONSE)
    throw new AppError('OIDC_PROVIDER_ERROR', `${place}${WELL_KNOWN} responds with an error.`);
  if (!isDocument(document))
    throw badInput('issuer', `There is no discovery document at ${place}${WELL_KNOWN}. ${CHECK_ISSUER}`);
  const { issuer } = document;
  if (placeOf(issuer) !== place)
    throw badInput(
      'issuer',
      `The discovery document names another issuer, ${issuer.slice(0, MAX_SHOWN)}. ${CHECK_ISSUER}`,
    );
  const textOf = (name: string): string | undefined => {
    const text = ownValue(document, name);
    return typeof text === 'string' ? text : undefined;
  };
  return {
    issuer,
    auth_uri: textOf('authorization_endpoint'),
    token_uri: textOf('token_endpoint'),
    jwks_uri: textOf('jwks_uri'),
  };
}
const CHECK_ISSUER = 'Check the issuer, or give the endpoints too.';
const MAX_SHOWN = 200;

/** Throws AppError OIDC_PROVIDER_ERROR when there is no response. */
async function fetchDocument(callProvider: ProviderClient, place: string): Promise<Found> {
  const url = new URL(place + WELL_KNOWN);
  const response = await callProvider(url, { method: 'GET', headers: { accept: 'application/json' } });
  if (response.status >= 500 || response.status === 429) return NO_RESPONSE;
  if (response.status !== 200) return ABSENT;
  try {
    const document = JSON.parse(response.text) as Readonly<Record<string, unknown>> | null;
    const issuer = document?.['issuer'];
    return typeof issuer === 'string' ? { ...document, issuer } : ABSENT;
  } catch (error) {
    if (error instanceof SyntaxError) return ABSENT;
    throw error;
  }
}
