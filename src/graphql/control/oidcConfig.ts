import { GraphQLID, GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteOidcConfig,
  insertOidcConfig,
  readOidcConfig,
  updateOidcConfig,
  type OidcConfigRow,
} from '../../db/control/oidcConfigs.js';
import { readOidcProvider } from '../../db/control/oidcProviders.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import { SCALARS } from '../schema/scalars.js';
import type { ControlContext } from './controlContext.js';
import {
  listField,
  notFound,
  numericId,
  requireInput,
  requireValue,
  type ControlObject,
} from './controlObject.js';
import { denied } from './permissions.js';
import { StoredRow } from './storedRow.js';

const configType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'oidc_config',
  fields: {
    confid: { type: new GraphQLNonNull(GraphQLID) },
    providerid: { type: SCALARS.Int },
    client_id: { type: GraphQLString },
    client_secret: { type: GraphQLString, description: 'In the answer of create_oidc_config only.' },
    client_secret_uuid: { type: GraphQLString, description: 'Another one with every new secret.' },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

const configInput = new GraphQLInputObjectType({
  name: 'oidc_configInput',
  fields: {
    providerid: { type: SCALARS.Int },
    client_id: { type: GraphQLString, description: "From the tenant's registration with the provider." },
    client_secret: { type: GraphQLString, description: 'Stored encrypted, never logged.' },
  },
});

interface ConfigInput {
  readonly providerid?: number | null;
  readonly client_id?: string | null;
  readonly client_secret?: string | null;
}

const input = { input: { type: configInput } };
const confid = { confid: { type: new GraphQLNonNull(GraphQLID) } };

export const oidcConfig: ControlObject = {
  queries: { oidc_config: listField(configType, 'oidc_config') },
  mutations: {
    create_oidc_config: {
      type: configType,
      args: input,
      resolve: async (_source, args: { input?: ConfigInput | null }, context) => {
        const { principal, db, deps } = context;
        requireRoot(principal);
        const given = requireInput(args);
        const client_secret = requireValue(given.client_secret, 'client_secret');
        const id = await insertOidcConfig(db, deps.keyRing, {
          tenantid: principal.tenantid,
          creatorid: principal.roleid,
          providerid: await requireProvider(context, requireValue(given.providerid, 'providerid')),
          client_id: requireValue(given.client_id, 'client_id'),
          client_secret,
        });
        const { row } = await stored(context, id);
        return new StoredRow({ ...row, client_secret });
      },
    },
    update_oidc_config: {
      type: configType,
      args: { ...confid, ...input },
      resolve: async (_source, args: { confid: string; input?: ConfigInput | null }, context) => {
        requireRoot(context.principal);
        const id = numericId(args.confid, 'configuration');
        await stored(context, id);
        const { providerid, client_id, client_secret } = requireInput(args);
        await updateOidcConfig(context.db, context.deps.keyRing, id, {
          ...(providerid == null ? {} : { providerid: await requireProvider(context, providerid) }),
          ...(client_id === undefined ? {} : { client_id: requireValue(client_id, 'client_id') }),
          ...(client_secret === undefined
            ? {}
            : { client_secret: requireValue(client_secret, 'client_secret') }),
        });
        return stored(context, id);
      },
    },
    delete_oidc_config: {
      type: configType,
      args: confid,
      description: 'Deletes the configuration with the identities that were mapped through it.',
      resolve: async (_source, args: { confid: string }, context) => {
        requireRoot(context.principal);
        const id = numericId(args.confid, 'configuration');
        const before = await stored(context, id);
        await deleteOidcConfig(context.db, id);
        return before;
      },
    },
  },
};

/** Not for admins: who chooses the provider chooses who can sign in, as the root role as well. Throws AppError PERMISSION_DENIED. */
function requireRoot(principal: Principal): void {
  if (!principal.isRoot) throw denied("This is for the tenant's root role.");
}

/** One that is for all tenants or for this one. Throws AppError OIDC_PROVIDER_NOT_FOUND. */
async function requireProvider({ db, principal }: ControlContext, providerid: number): Promise<number> {
  const provider = await readOidcProvider(db, providerid);
  if (provider && (provider.tenantid === null || provider.tenantid === principal.tenantid)) return providerid;
  throw new AppError('OIDC_PROVIDER_NOT_FOUND', `There is no provider ${providerid}.`, {
    details: { field: 'providerid', providerid },
  });
}

async function stored({ db, principal }: ControlContext, id: number): Promise<StoredRow<OidcConfigRow>> {
  const row = await readOidcConfig(db, principal.tenantid, id);
  if (!row) throw notFound('configuration', id);
  return new StoredRow(row);
}
