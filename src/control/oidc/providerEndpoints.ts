import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { isInstallationAdmin } from '../permissions.js';
import type { MutationInput } from '../request/mutationInputs.js';
import type { OidcSetUp, ProviderEndpoints } from './oidcSetUp.js';

/** By the issuer as it was given: the endpoints, or why they could not be read. */
export type DiscoveredEndpoints = ReadonlyMap<string, ProviderEndpoints | AppError>;

type Given = { readonly [K in keyof ProviderEndpoints]?: unknown };

/**
 * Reads the discovery documents of new providers that are given by their issuer alone. Called before the transaction, because a
 * provider may be slow.
 */
export async function discoverEndpoints(
  principal: Principal,
  oidcSetUp: OidcSetUp | undefined,
  inputs: readonly MutationInput[],
): Promise<DiscoveredEndpoints> {
  if (!oidcSetUp || !isInstallationAdmin(principal)) return new Map();
  const issuers = inputs
    .filter(({ mutation }) => mutation === 'create_oidc_providers')
    .flatMap(({ input }) => undiscovered(input) ?? []);
  const read = [...new Set(issuers)].map(
    async (issuer) =>
      [
        issuer,
        await oidcSetUp.discover(issuer).catch((error: unknown) => {
          if (error instanceof AppError) return error;
          throw error;
        }),
      ] as const,
  );
  return new Map(await Promise.all(read));
}

/** The input, with what its issuer's discovery document says in place of what is missing. Throws AppError if it could not be read. */
export function withEndpoints<Input extends Given>(given: Input, discovered: DiscoveredEndpoints): Input {
  const issuer = undiscovered(given);
  const found = issuer === undefined ? undefined : discovered.get(issuer);
  if (found === undefined) return given;
  if (found instanceof AppError) throw found;
  const missing = ENDPOINTS.filter((name) => isMissing(given, name));
  return {
    ...given,
    issuer: found.issuer,
    ...Object.fromEntries(missing.map((name) => [name, ownValue(found, name)])),
  };
}

/** The issuer of a provider that lacks an endpoint. */
function undiscovered(given: Given): string | undefined {
  const { issuer } = given;
  if (typeof issuer !== 'string' || issuer === '') return undefined;
  return ENDPOINTS.some((name) => isMissing(given, name)) ? issuer : undefined;
}
const ENDPOINTS = ['auth_uri', 'token_uri', 'jwks_uri'] as const;

function isMissing(given: Given, name: (typeof ENDPOINTS)[number]): boolean {
  const value = ownValue(given, name);
  return value == null || value === '';
}
