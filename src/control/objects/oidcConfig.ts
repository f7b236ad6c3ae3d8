import { GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteOidcConfig,
  insertOidcConfig,
  readOidcConfig,
  updateOidcConfig,
  type OidcConfigRow,
} from '../oidc/oidcConfigs.js';
import { readOidcProvider } from '../oidc/oidcProviders.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { numericId, requireValue } from '../object/controlObject.js';
import { crudObject } from '../object/crudObject.js';
import { denied } from '../permissions.js';

const configType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'oidc_config',
  fields: {
    confid: { type: new GraphQLNonNull(ID) },
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

export const oidcConfig = crudObject<OidcConfigRow, number, ConfigInput>({
  names: { list: 'oidc_config', one: 'oidc_config', spoken: 'configuration' },
  type: configType,
  input: configInput,
  key: { field: 'confid', read: numericId },
  authorize: requireRoot,
  deleteDescription: 'Deletes the configuration with the identities that were mapped through it.',
  find: ({ db, principal }, confid) => readOidcConfig(db, principal.tenantid, confid),
  async create(context, given) {
    const { principal, db, deps } = context;
    const client_secret = requireValue(given.client_secret, 'client_secret');
    return insertOidcConfig(db, deps.keyRing, {
      tenantid: principal.tenantid,
      creatorid: principal.roleid,
      providerid: await requireProvider(context, requireValue(given.providerid, 'providerid')),
      client_id: requireValue(given.client_id, 'client_id'),
      client_secret,
    });
  },
  shownOnce: ({ client_secret }) => ({ client_secret }),
  async update(context, { confid }, { providerid, client_id, client_secret }) {
    await updateOidcConfig(context.db, context.deps.keyRing, confid, {
      ...(providerid == null ? {} : { providerid: await requireProvider(context, providerid) }),
      ...(client_id === undefined ? {} : { client_id: requireValue(client_id, 'client_id') }),
      ...(client_secret === undefined ? {} : { client_secret: requireValue(client_secret, 'client_secret') }),
    });
    return confid;
  },
  delete: ({ db }, { confid }) => deleteOidcConfig(db, confid),
});

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
