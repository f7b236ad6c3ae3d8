import { GraphQLID, GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteOidcProvider,
  insertOidcProvider,
  isUsedByOthers,
  readOidcProvider,
  updateOidcProvider,
  type OidcProviderRow,
  type OidcProviderValues,
} from '../../db/control/oidcProviders.js';
import { readTenant } from '../../db/control/tenants.js';
import { SCALARS } from '../schema/scalars.js';
import { checkOidcUri } from './checkOidcUri.js';
import type { ControlContext } from './controlContext.js';
import {
  badInput,
  listField,
  notFound,
  numericId,
  requireInput,
  requireValue,
  type ControlObject,
} from './controlObject.js';
import { requireInstallationAdmin } from './permissions.js';
import { StoredRow } from './storedRow.js';

const providerType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'oidc_providers',
  fields: {
    providerid: { type: new GraphQLNonNull(GraphQLID) },
    name: { type: GraphQLString },
    auth_uri: { type: GraphQLString },
    token_uri: { type: GraphQLString },
    jwks_uri: { type: GraphQLString },
    comparison_field: { type: GraphQLString },
    issuer: { type: GraphQLString },
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
      description: 'The `iss` of its ID tokens; any on the host of auth_uri when left out.',
    },
    tenantid: { type: SCALARS.Int, description: 'For one tenant only; for all when left out.' },
  },
});

type ProviderInput = { readonly [K in keyof OidcProviderValues]?: OidcProviderValues[K] | null };

const input = { input: { type: providerInput } };
const providerid = { providerid: { type: new GraphQLNonNull(GraphQLID) } };

export const oidcProviders: ControlObject = {
  queries: { oidc_providers: listField(providerType, 'oidc_providers') },
  mutations: {
    create_oidc_providers: {
      type: providerType,
      args: input,
      resolve: async (_source, args: { input?: ProviderInput | null }, context) => {
        requireInstallationAdmin(context.principal);
        const values = await readProvider(context, requireInput(args), undefined);
        return stored(context, await insertOidcProvider(context.db, context.principal.roleid, values));
      },
    },
    update_oidc_providers: {
      type: providerType,
      args: { ...providerid, ...input },
      resolve: async (_source, args: { providerid: string; input?: ProviderInput | null }, context) => {
        requireInstallationAdmin(context.principal);
        const { row: before } = await stored(context, numericId(args.providerid, 'provider'));
        const values = await readProvider(context, requireInput(args), before);
        await requireNotTakenAway(context, before.providerid, values.tenantid);
        await updateOidcProvider(context.db, before.providerid, values);
        return stored(context, before.providerid);
      },
    },
    delete_oidc_providers: {
      type: providerType,
      args: providerid,
      resolve: async (_source, args: { providerid: string }, context) => {
        requireInstallationAdmin(context.principal);
        const before = await stored(context, numericId(args.providerid, 'provider'));
        await deleteOidcProvider(context.db, before.row.providerid);
        return before;
      },
    },
  },
};

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

async function stored({ db }: ControlContext, id: number): Promise<StoredRow<OidcProviderRow>> {
  const row = await readOidcProvider(db, id);
  if (!row) throw notFound('provider', id);
  return new StoredRow(row);
}
