import { GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { NOBODY_LOGIN } from '../../db/principal.js';
import { readOidcConfig } from '../oidc/oidcConfigs.js';
import { isProviderid } from '../oidc/oidcProviders.js';
import {
  deleteRoleOidc,
  insertRoleOidc,
  readRoleOidc,
  updateRoleOidc,
  type RoleOidcKey,
  type RoleOidcRow,
} from '../oidc/oidcMappings.js';
import { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';
import {
  badInput,
  listField,
  notFound,
  numericId,
  requireInput,
  requireValue,
  type ControlObject,
} from '../object/controlObject.js';
import { denied, requireCapability } from '../permissions.js';
import { requireManageable } from '../roles/rolePermissions.js';
import { StoredRow } from '../object/storedRow.js';
import { ID } from '../../graphql/schema/scalars.js';

const mappingType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'role_oidc',
  fields: {
    roleid: { type: new GraphQLNonNull(ID) },
    confid: { type: new GraphQLNonNull(ID) },
    sub_id: { type: GraphQLString },
  },
});

const mappingInput = new GraphQLInputObjectType({
  name: 'role_oidcInput',
  fields: {
    roleid: { type: ID },
    confid: { type: ID },
    sub_id: {
      type: GraphQLString,
      description: "The user's value of the claim that the provider's comparison_field names.",
    },
  },
});

interface MappingInput {
  readonly roleid?: string | null;
  readonly confid?: string | null;
  readonly sub_id?: string | null;
}

interface MappingKey {
  readonly roleid: string;
  readonly confid: string;
}

const id = { type: new GraphQLNonNull(ID) };

export const roleOidc: ControlObject = {
  queries: { role_oidc: listField(mappingType, 'role_oidc') },
  mutations: {
    create_role_oidc: {
      type: mappingType,
      args: { input: { type: mappingInput } },
      resolve: async (_source, args: { input?: MappingInput | null }, context) => {
        const given = requireInput(args);
        const key = readKey(context, {
          roleid: requireValue(given.roleid, 'roleid'),
          confid: requireValue(given.confid, 'confid'),
        });
        const sub_id = requireValue(given.sub_id, 'sub_id');
        await authorize(context, key.roleid);
        await requireConfig(context, key.confid);
        await insertRoleOidc(context.db, { ...key, sub_id, creatorid: context.principal.roleid });
        return stored(context, key);
      },
    },
    update_role_oidc: {
      type: mappingType,
      args: { roleid: id, confid: id, input: { type: mappingInput } },
      resolve: async (_source, args: MappingKey & { input?: MappingInput | null }, context) => {
        const key = readKey(context, args);
        const given = requireInput(args);
        for (const field of ['roleid', 'confid'] as const) {
          const value = given[field];
          if (value != null && value !== args[field]) throw badInput(field, `${field} stays as it was made.`);
        }
        await authorize(context, key.roleid);
        await stored(context, key);
        if (given.sub_id !== undefined) {
          await updateRoleOidc(context.db, key, requireValue(given.sub_id, 'sub_id'));
        }
        return stored(context, key);
      },
    },
    delete_role_oidc: {
      type: mappingType,
      args: { roleid: id, confid: id },
      resolve: async (_source, args: MappingKey, context) => {
        const key = readKey(context, args);
        await authorize(context, key.roleid);
        const before = await stored(context, key);
        await deleteRoleOidc(context.db, key);
        return before;
      },
    },
  },
};

function readKey({ principal }: ControlContext, { roleid, confid }: MappingKey): RoleOidcKey {
  return {
    tenantid: principal.tenantid,
    roleid: numericId(roleid, 'role'),
    confid: numericId(confid, 'configuration'),
  };
}

/**
 * Every role maps itself; who may create roles maps those that it could give a password: both are ways to sign in as
 * the role. Throws AppError PERMISSION_DENIED, NOT_FOUND.
 */
async function authorize(context: ControlContext, roleid: number): Promise<void> {
  const { principal } = context;
  if (roleid === principal.roleid) {
    if (principal.login === NOBODY_LOGIN) throw denied('Anonymous visitors have no identity.');
    return;
  }
  requireCapability(principal, 'create_role');
  const role = await requireManageable(context, roleid);
  if (role.deleted) throw notFound('role', roleid);
  if (role.login === NOBODY_LOGIN) throw denied('Anonymous visitors have no identity.');
}

/** Throws AppError OIDC_CONFID_NOT_FOUND. */
async function requireConfig({ db, principal }: ControlContext, confid: number): Promise<void> {
  if (await readOidcConfig(db, principal.tenantid, confid)) return;
  throw new AppError('OIDC_CONFID_NOT_FOUND', `There is no configuration ${confid}.`, {
    ...((await isProviderid(db, principal.tenantid, confid)) ? { hint: PROVIDERID_GIVEN } : {}),
    details: { field: 'confid', confid },
  });
}

const PROVIDERID_GIVEN =
  'This is the number of a provider: give the confid that create_oidc_config returned.';

async function stored({ db }: ControlContext, key: RoleOidcKey): Promise<StoredRow<RoleOidcRow>> {
  const row = await readRoleOidc(db, key);
  if (!row) throw notFound('mapping of role', `${key.roleid} through configuration ${key.confid}`);
  return new StoredRow(row);
}
