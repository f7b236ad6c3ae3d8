import {
  GraphQLBoolean,
  GraphQLID,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import { readChildren, readRole, type RoleRow } from '../../db/control/roles.js';
import { readTenant } from '../../db/control/tenants.js';
import { LIST_ARGS } from '../schema/dataSchema.js';
import { SCALARS } from '../schema/scalars.js';
import { changeRole, removeRole } from './changeRole.js';
import type { ControlContext } from './controlContext.js';
import {
  badInput,
  listField,
  notFound,
  numericId,
  requireInput,
  type ControlObject,
} from './controlObject.js';
import { makeRole } from './makeRole.js';
import { holds } from './permissions.js';
import { roleInput, type RoleInput } from './roleInput.js';
import { related, StoredRow } from './storedRow.js';
import { tenantType } from './tenant.js';

const roleType: GraphQLObjectType<unknown, ControlContext> = new GraphQLObjectType<unknown, ControlContext>({
  name: 'role',
  fields: () => ({
    roleid: { type: new GraphQLNonNull(GraphQLID) },
    tenantid: { type: SCALARS.Int },
    login: { type: GraphQLString },
    name: { type: GraphQLString },
    parentid: { type: SCALARS.Int },
    classes: { type: new GraphQLList(SCALARS.Int) },
    capabilities: { type: new GraphQLList(GraphQLString) },
    deleted: { type: GraphQLBoolean },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
    password_createtime: { type: SCALARS.DateTime },
    children: {
      type: new GraphQLList(roleType),
      args: LIST_ARGS,
      resolve: related<RoleRow>(async (row, context, args) => {
        const children = await readChildren(context.db, row.tenantid, row.roleid);
        return pageOf(children.filter(visibleAfterChange(context)), context, args).map(
          (child) => new StoredRow(child),
        );
      }),
    },
    parent: {
      type: roleType,
      resolve: related<RoleRow>(async (row, context) => {
        const parent =
          row.parentid === null ? undefined : await readRole(context.db, row.tenantid, row.parentid);
        return parent && visibleAfterChange(context)(parent) ? new StoredRow(parent) : null;
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

const input = { input: { type: roleInput } };
const roleid = { roleid: { type: new GraphQLNonNull(GraphQLID) } };

export const role: ControlObject = {
  queries: { role: listField(roleType, 'role') },
  mutations: {
    create_role: {
      type: roleType,
      args: input,
      resolve: async (_source, args: { input?: RoleInput | null }, context) =>
        stored(context, await makeRole(context, requireInput(args))),
    },
    update_role: {
      type: roleType,
      args: { ...roleid, ...input },
      resolve: async (_source, args: { roleid: string; input?: RoleInput | null }, context) => {
        const id = numericId(args.roleid, 'role');
        await changeRole(context, id, requireInput(args));
        return stored(context, id);
      },
    },
    delete_role: {
      type: roleType,
      args: roleid,
      description: 'Marks the role as deleted: it can sign in no more, and its tokens end within a second.',
      resolve: async (_source, args: { roleid: string }, context) => {
        const id = numericId(args.roleid, 'role');
        await removeRole(context, id);
        return stored(context, id);
      },
    },
  },
};

/** What lists show of the tenant's roles, said of a row that this transaction may have changed. See `visibleTo`. */
function visibleAfterChange({ principal }: ControlContext): (row: RoleRow) => boolean {
  return ({ roleid, parentid }) =>
    holds(principal, 'view_role') || roleid === principal.roleid || parentid === principal.roleid;
}

/** Throws AppError BAD_USER_INPUT for what only lists of queries can do. */
function pageOf(
  rows: readonly RoleRow[],
  { deps: { config } }: ControlContext,
  args: Readonly<Record<string, unknown>>,
): readonly RoleRow[] {
  for (const arg of ['filter', 'ordering']) {
    if (args[arg] != null)
      throw badInput(arg, `After a mutation children take limit and offset; query with ${arg}.`);
  }
  const limit = (args['limit'] as number | null | undefined) ?? config.listDefaultLimit;
  const offset = (args['offset'] as number | null | undefined) ?? 0;
  if (limit < 0 || limit > config.listMaxLimit || offset < 0) {
    throw badInput('limit', `limit is from 0 to ${config.listMaxLimit}, offset is not negative.`);
  }
  return rows.slice(offset, offset + limit);
}

async function stored({ db, principal }: ControlContext, id: number): Promise<StoredRow> {
  const row = await readRole(db, principal.tenantid, id);
  if (!row) throw notFound('role', id);
  return new StoredRow(row);
}
