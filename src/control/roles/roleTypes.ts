import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readRoleClassesById, type RoleClassRow } from './roleClasses.js';
import { readChildren, readRole, readRolesById, type RoleRow } from './roles.js';
import { readTenant } from '../tenants/tenants.js';
import { LIST_ARGS } from '../../graphql/schema/dataSchema.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../object/controlObject.js';
import { holds } from '../permissions.js';
import { related, StoredRow } from '../object/storedRow.js';
import { tenantType } from '../objects/tenant.js';
import { rolesSeenBy } from '../object/visibility.js';

export const roleType: GraphQLObjectType<unknown, ControlContext> = new GraphQLObjectType<
  unknown,
  ControlContext
>({
  name: 'role',
  fields: () => ({
    roleid: { type: new GraphQLNonNull(ID) },
    tenantid: { type: SCALARS.Int },
    login: { type: GraphQLString },
    name: { type: GraphQLString },
    parentid: { type: SCALARS.Int },
    classes: {
      type: new GraphQLList(classType),
      description: 'Those that it was put into; not those that it has from a role above.',
      args: LIST_ARGS,
      resolve: related<RoleRow>(async (row, context, args) => {
        const classes = await readRoleClassesById(context.db, row.tenantid, row.classes);
        return pageOf(classes.filter(seenClass(context)), context, args);
      }),
    },
    capabilities: { type: new GraphQLList(GraphQLString) },
    deleted: { type: GraphQLBoolean },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
    password_createtime: { type: SCALARS.DateTime },
    password_setby: { type: SCALARS.Int, description: 'The role that set the password.' },
    children: {
      type: new GraphQLList(roleType),
      args: LIST_ARGS,
      resolve: related<RoleRow>(async (row, context, args) => {
        const children = await readChildren(context.db, row.tenantid, row.roleid);
        return pageOf(children.filter(seenRole(context)), context, args);
      }),
    },
    parent: {
      type: roleType,
      resolve: related<RoleRow>(async (row, context) => {
        const parent =
          row.parentid === null ? undefined : await readRole(context.db, row.tenantid, row.parentid);
        return parent && seenRole(context)(parent) ? new StoredRow(parent) : null;
      }),
    },
    tenant: {
      type: tenantType,
      resolve: related<RoleRow>(async (row, { db }) => {
        const tenant = await readTenant(db, row.tenantid);
        return tenant ? new StoredRow(tenant) : null;
      }),
    },
  }),
});

export const classType: GraphQLObjectType<unknown, ControlContext> = new GraphQLObjectType<
  unknown,
  ControlContext
>({
  name: 'role_class',
  fields: () => ({
    classid: { type: new GraphQLNonNull(ID) },
    name: { type: GraphQLString },
    tenantid: { type: SCALARS.Int },
    inherit: { type: GraphQLString },
    members: {
      type: new GraphQLList(roleType),
      description: 'The roles that were put there; not those that have it from a role above.',
      args: LIST_ARGS,
      resolve: related<RoleClassRow>(async (row, context, args) => {
        const members = await readRolesById(context.db, row.tenantid, row.members);
        return pageOf(members.filter(seenRole(context)), context, args);
      }),
    },
    allow_signup: { type: GraphQLBoolean, description: 'Whether visitors may sign up into it.' },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  }),
});

/** What lists show of the tenant's roles, said of a row that this transaction may have changed. See `visibleTo`. */
function seenRole({ principal }: ControlContext): (row: RoleRow) => boolean {
  const seen = rolesSeenBy(principal);
  return ({ roleid, parentid }) =>
    seen === 'all' || roleid === principal.roleid || (seen === 'children' && parentid === principal.roleid);
}

/** The same of its classes. */
function seenClass({ principal }: ControlContext): (row: RoleClassRow) => boolean {
  return ({ classid }) => holds(principal, 'view_class') || principal.classes.includes(classid);
}

/** Throws AppError BAD_USER_INPUT for what only lists of queries can do. */
function pageOf(
  rows: readonly object[],
  { deps: { config } }: ControlContext,
  args: Readonly<Record<string, unknown>>,
): readonly StoredRow[] {
  for (const arg of ['filter', 'ordering']) {
    if (args[arg] != null)
      throw badInput(arg, `Lists in a mutation's answer take limit and offset; query with ${arg}.`);
  }
  const limit = (args['limit'] as number | null | undefined) ?? config.listDefaultLimit;
  const offset = (args['offset'] as number | null | undefined) ?? 0;
  if (limit < 0 || limit > config.listMaxLimit || offset < 0) {
    throw badInput('limit', `limit is from 0 to ${config.listMaxLimit}, offset is not negative.`);
  }
  return rows.slice(offset, offset + limit).map((row) => new StoredRow(row));
}
