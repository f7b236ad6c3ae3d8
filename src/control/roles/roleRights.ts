import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import type { Principal } from '../../db/roles/principal.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { notFound } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const ids = { type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(SCALARS.Int))) };

const roleRightsType = new GraphQLObjectType<Principal, ControlContext>({
  name: 'role_rights',
  fields: {
    roleid: { type: new GraphQLNonNull(SCALARS.Int) },
    admin: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether the role is root or holds `admin`, and so passes every policy rule.',
      resolve: ({ isAdmin }) => isAdmin,
    },
    capabilities: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLString))),
    },
    classes: {
      ...ids,
      description: 'Classes of the role: direct memberships and those inherited from roles above.',
    },
    rules: {
      ...ids,
      description: 'Policy rules that apply to the role.',
      resolve: ({ rules }) => rules.map(({ ruleid }) => ruleid),
    },
  },
});

/** `Utility.role_rights`. Throws AppError PERMISSION_DENIED, NOT_FOUND. */
export const roleRightsField: ControlField<{ readonly roleid: number }> = {
  type: roleRightsType,
  description: 'Effective permissions of a role of the tenant, exactly as its requests are authorized.',
  args: { roleid: { type: new GraphQLNonNull(SCALARS.Int) } },
  resolve: async (_source, { roleid }, { principal, deps }) => {
    requireTenantAdmin(principal);
    const subject = await deps.principals.load(principal.tenantid, roleid);
    if (!subject) throw notFound('role', roleid);
    return subject;
  },
};
