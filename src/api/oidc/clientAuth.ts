import { importJWK, type CryptoKey, type JWK } from 'jose';
import { ClientSecretBasic, ClientSecretPost, PrivateKeyJwt, type ClientAuth } from 'openid-client';
import type { OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { AppError } from '../../foundation/errors.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { oidcFailure } from './oidcFailure.js';
import type { Metadata } from './providerMetadata.js';

const BASIC = 'client_secret_basic';
const POST = 'client_secret_post';

/**
 * How the client authenticates at the token endpoint: with its key if it has one, otherwise with its secret, in the way that the
 * provider's metadata names. Some name the wrong one, or none. Throws AppError OIDC_CLIENT_REFUSED if it has neither.
 */
export async function clientAuthOf(
  { providerMetadata }: Pick<RouteDeps, 'providerMetadata'>,
  { clientKey, clientSecret, provider }: OidcRegistration,
): Promise<readonly [ClientAuth, ...ClientAuth[]]> {
  const { clientAuthMethods = [], clientAuthAlgorithms }: Metadata = await providerMetadata
    .get(provider)
    .catch((error: unknown) => {
      // The token endpoint may respond nevertheless.
      if (error instanceof AppError) return {};
      throw error;
    });
  if (clientKey) {
    const isPss = clientAuthAlgorithms?.includes('RS256') === false && clientAuthAlgorithms.includes('PS256');
    const key = (await importJWK(clientKey.privateJwk as JWK, isPss ? 'PS256' : 'RS256')) as CryptoKey;
    return [PrivateKeyJwt({ key, kid: clientKey.kid })];
  }
  if (clientSecret === '')
    throw oidcFailure(
      'OIDC_CLIENT_REFUSED',
      'The configuration has neither a client secret nor a key.',
      'Root gives it one with update_oidc_config or create_oidc_key.',
    );
  const wantsPost = clientAuthMethods.includes(POST) && !clientAuthMethods.includes(BASIC);
  const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)];
  return wantsPost ? [post, basic] : [basic, post];
}
