import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { OidcSetUp, SetUpStep, TriedSignIn } from '../../control/oidc/oidcSetUp.js';
import { claimsRead } from '../../control/oidc/admission.js';
import type { Provisioner } from '../../control/oidc/provisioner.js';
import { textsOf, type Claims } from '../../control/oidc/claims.js';
import type { Identity } from '../../control/oidc/identity.js';
import { readOidcRegistration, type OidcRegistration } from '../../control/oidc/oidcRegistration.js';
import { AppError } from '../../foundation/errors.js';
import type { WebDeps } from '../http/webDeps.js';
import { authorizationUrl } from './authorizationUrl.js';
import { clientAuthOf } from './clientAuth.js';
import {
  discoverProvider,
  isDocument,
  NO_RESPONSE,
  placeOf,
  readDiscoveryDocument,
} from './discoveryDocument.js';
import { exchangeCode } from './exchangeCode.js';
import { matchIdentity } from './matchIdentity.js';
import { oidcFailure } from './oidcFailure.js';
import type { ProviderClient } from './providerClient.js';
import type { ProviderIssuers } from './providerIssuers.js';
import type { ProviderKeys } from './providerKeys.js';
import type { ProviderMetadata } from './providerMetadata.js';

interface SetUpDeps extends WebDeps {
  readonly callProvider: ProviderClient;
  readonly issuers: ProviderIssuers;
  readonly providerKeys: ProviderKeys;
  readonly providerMetadata: ProviderMetadata;
  readonly provisioner: Provisioner;
}

/** What the set-up of a configuration is checked with: the provider itself, and what sign-ins themselves do. */
export function oidcSetUp(deps: SetUpDeps): OidcSetUp {
  const find = async (tenantid: number, confid: number): Promise<OidcRegistration> => {
    const registration = await readOidcRegistration(deps.database.pool, deps.keyRing, tenantid, confid);
    if (!registration)
      throw oidcFailure('OIDC_CONFID_NOT_FOUND', `The tenant has no OpenID Connect configuration ${confid}.`);
    return deps.issuers.complete(deps, registration);
  };
  return {
    async check(tenantid, confid) {
      const registration = await find(tenantid, confid);
      const steps: SetUpStep[] = [];
      for (const [step, run] of STEPS) {
        const problem = await run(deps, registration).catch((error: unknown) => {
          if (error instanceof AppError) return error.message;
          throw error;
        });
        steps.push({ step, ok: problem === undefined, message: problem ?? null });
      }
      return steps;
    },
    async tryClaims(tenantid, confid, claims) {
      const registration = await find(tenantid, confid);
      const none = (): Promise<undefined> => Promise.resolve(undefined);
      const tried = { tenantid, confid, claims, readMore: none };
      return { read: readOf(registration, claims), ...(await tryIdentity(deps, registration, tried)) };
    },
    discover: (issuer) => discoverProvider(deps.callProvider, deps.config, issuer),
  };
}

/** The claims that count, with their texts. */
export function readOf({ provider, provisioning }: OidcRegistration, claims: Claims): TriedSignIn['read'] {
  const paths = [provider.comparison_field, ...(provisioning ? claimsRead(provisioning, true) : [])];
  return [...new Set(paths)].map((path) => ({ path, values: textsOf(claims, path) }));
}

/** What a sign-in with the claims would do, or why it would be refused. Throws AppError OIDC_PROVIDER_ERROR, TOO_BUSY. */
export async function tryIdentity(
  { provisioner }: Pick<SetUpDeps, 'provisioner'>,
  registration: OidcRegistration,
  { tenantid, confid, claims, readMore }: Pick<Identity, 'tenantid' | 'confid' | 'claims' | 'readMore'>,
): Promise<Pick<TriedSignIn, 'role' | 'refusal'>> {
  const { provider } = registration;
  try {
    const role = await provisioner.rehearse(registration, {
      tenantid,
      confid,
      providerid: provider.providerid,
      ...matchIdentity(claims, provider, undefined),
      claims,
      readMore,
      emailAlwaysVerified: provider.email_always_verified,
    });
    return { role, refusal: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return { role: null, refusal: { code: error.code, message: error.message } };
  }
}

type Check = (deps: SetUpDeps, registration: OidcRegistration) => Promise<string | undefined>;

/** Each returns what is wrong, or throws it as an AppError. */
const STEPS: readonly (readonly [SetUpStep['step'], Check])[] = [
  ['discovery', checkDiscovery],
  ['keys', checkKeys],
  ['authorization', checkAuthorization],
  ['client', checkClient],
];

async function checkDiscovery(
  { callProvider }: SetUpDeps,
  { provider }: OidcRegistration,
): Promise<string | undefined> {
  if (provider.issuer === null)
    return 'No issuer is given, and no discovery document was found: set issuer to the iss of the ID tokens.';
  const found = await readDiscoveryDocument(callProvider, placeOf(provider.issuer), provider);
  if (found === NO_RESPONSE) return 'The discovery document of the issuer gave no response.';
  if (!isDocument(found))
    return 'The issuer has no discovery document, or it names another issuer or jwks_uri than the provider has.';
  for (const [field, name] of [
    ['auth_uri', 'authorization_endpoint'],
    ['token_uri', 'token_endpoint'],
  ] as const) {
    const named = found[name];
    if (typeof named === 'string' && named !== provider[field].replace(/\?.*$/, ''))
      return `The discovery document names another ${name} than ${field}.`;
  }
  return undefined;
}

async function checkKeys({ providerKeys }: SetUpDeps, { provider }: OidcRegistration): Promise<undefined> {
  await providerKeys.reread(provider.jwks_uri);
  return undefined;
}

async function checkAuthorization(
  { callProvider, config }: SetUpDeps,
  registration: OidcRegistration,
): Promise<string | undefined> {
  const secrets = { state: randomUUID(), nonce: randomUUID(), codeVerifier: randomUUID() + randomUUID() };
  const url = await authorizationUrl(registration, config, secrets);
  const { status } = await callProvider(new URL(url), { method: 'GET', headers: { accept: 'text/html' } });
  if (status < 400) return undefined;
  return `The provider refuses to sign people in (${status}). Register exactly ${redirectUri(config, registration)} with it, and check client_id and scope.`;
}

/** The provider refuses a code that it never gave, but only once it has let the client in. */
async function checkClient(deps: SetUpDeps, registration: OidcRegistration): Promise<string | undefined> {
  const callbackUrl = new URL(redirectUri(deps.config, registration));
  const state = randomUUID();
  const iss = registration.provider.issuer;
  callbackUrl.search = new URLSearchParams({
    code: randomUUID(),
    state,
    ...(iss !== null && { iss }),
  }).toString();
  const clientAuth = await clientAuthOf(deps, registration);
  const codeVerifier = randomUUID() + randomUUID();
  try {
    await exchangeCode(deps.callProvider, { registration, callbackUrl, state, codeVerifier, clientAuth });
  } catch (error) {
    if (error instanceof AppError && error.code === 'OIDC_CODE_REFUSED') return undefined;
    throw error;
  }
  return 'The token endpoint takes any code.';
}

function redirectUri({ baseUrl }: Pick<Config, 'baseUrl'>, { redirectPath }: OidcRegistration): string {
  return baseUrl + redirectPath;
}
