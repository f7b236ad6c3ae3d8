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
import { listField, notFound, numericId, requireInput, type ControlObject } from './controlObject.js';
import { makeRole } from './makeRole.js';
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
      resolve: related<RoleRow>(async (row, { db }) =>
        (await readChildren(db, row.tenantid, row.roleid)).map((child) => new StoredRow(child)),
      ),
    },
    parent: {
      type: roleType,
      resolve: related<RoleRow>(async (row, { db }) => {
        const parent = row.parentid === null ? undefined : await readRole(db, row.tenantid, row.parentid);
        return parent ? new StoredRow(parent) : null;
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

async function stored({ db, principal }: ControlContext, id: number): Promise<StoredRow> {
  const row = await readRole(db, principal.tenantid, id);
  if (!row) throw notFound('role', id);
  return new StoredRow(row);
}
