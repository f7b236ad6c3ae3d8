import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import {
  deleteOidcProvider,
  insertOidcProvider,
  isUsedByOthers,
  readOidcProvider,
  updateOidcProvider,
  type OidcProviderRow,
  type OidcProviderValues,
} from '../oidc/oidcProviders.js';
import { readTenant } from '../tenants/tenants.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { checkOidcUri } from '../checkOidcUri.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, numericId, requireValue } from '../object/controlObject.js';
import { crudObject } from '../object/crudObject.js';
import { requireInstallationAdmin } from '../permissions.js';

const providerType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'oidc_providers',
  fields: {
    providerid: { type: new GraphQLNonNull(ID) },
    name: { type: GraphQLString },
    auth_uri: { type: GraphQLString },
    token_uri: { type: GraphQLString },
    jwks_uri: { type: GraphQLString },
    comparison_field: { type: GraphQLString },
    issuer: { type: GraphQLString },
    email_always_verified: { type: GraphQLBoolean },
    tenantid: { type: SCALARS.Int, description: 'The one tenant it is for; null for all.' },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

const providerInput = new GraphQLInputObjectType({
  name: 'oidc_providersInput',
  fields: {
    name: { type: GraphQLString },
    auth_uri: { type: GraphQLString, description: 'Where users sign in.' },
    token_uri: { type: GraphQLString, description: 'Where the code becomes an ID token.' },
    jwks_uri: { type: GraphQLString, description: "The provider's keys." },
    comparison_field: {
      type: GraphQLString,
      description: 'The claim of the ID token that says who it is; `sub` when left out.',
    },
    issuer: {
      type: GraphQLString,
      description: 'The `iss` of its ID tokens; when left out, that of its discovery document.',
    },
    email_always_verified: {
      type: GraphQLBoolean,
      description:
        'With comparison_field `email`: whether an address counts although the provider never sends email_verified; false when left out.',
    },
    tenantid: { type: SCALARS.Int, description: 'For one tenant only; for all when left out.' },
  },
});

type ProviderInput = { readonly [K in keyof OidcProviderValues]?: OidcProviderValues[K] | null };

export const oidcProviders = crudObject<OidcProviderRow, number, ProviderInput>({
  names: { list: 'oidc_providers', one: 'oidc_providers', spoken: 'provider' },
  type: providerType,
  input: providerInput,
  key: { field: 'providerid', read: numericId },
  authorize: requireInstallationAdmin,
  find: ({ db }, providerid) => readOidcProvider(db, providerid),
  async create(context, given) {
    const values = await readProvider(context, given, undefined);
    return insertOidcProvider(context.db, context.principal.roleid, values);
  },
  async update(context, before, given) {
    const { providerid } = before;
    const values = await readProvider(context, given, before);
    await requireNotTakenAway(context, providerid, values.tenantid);
    await updateOidcProvider(context.db, providerid, values);
    return providerid;
  },
  delete: ({ db }, { providerid }) => deleteOidcProvider(db, providerid),
});

/** What is given, on top of what was there before. Throws AppError BAD_USER_INPUT. */
async function readProvider(
  { db, deps }: ControlContext,
  given: ProviderInput,
  before: OidcProviderRow | undefined,
): Promise<OidcProviderValues> {
  const value = (field: 'name' | 'auth_uri' | 'token_uri' | 'jwks_uri'): string =>
    given[field] === undefined && before ? before[field] : requireValue(given[field], field);
  const uri = (field: 'auth_uri' | 'token_uri' | 'jwks_uri'): string =>
    checkOidcUri(value(field), field, deps.config);
  const tenantid = given.tenantid === undefined ? (before?.tenantid ?? null) : given.tenantid;
  if (tenantid !== null && !(await readTenant(db, tenantid))) {
    throw badInput('tenantid', `There is no tenant ${tenantid}.`);
  }
  const issuer = given.issuer === undefined ? (before?.issuer ?? null) : given.issuer || null;
  const comparison = given.comparison_field === undefined ? before?.comparison_field : given.comparison_field;
  return {
    name: value('name'),
    auth_uri: uri('auth_uri'),
    token_uri: uri('token_uri'),
    jwks_uri: uri('jwks_uri'),
    issuer,
    comparison_field: comparison || 'sub',
    email_always_verified: given.email_always_verified ?? before?.email_always_verified ?? false,
    tenantid,
  };
}

/** Throws AppError BAD_USER_INPUT when other tenants are registered with a provider that is to be one tenant's own. */
async function requireNotTakenAway(
  { db }: ControlContext,
  id: number,
  tenantid: number | null,
): Promise<void> {
  if (tenantid !== null && (await isUsedByOthers(db, id, tenantid))) {
    throw badInput('tenantid', 'Other tenants have configurations with this provider.');
  }
}
