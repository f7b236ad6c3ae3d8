import { GraphQLNonNull } from 'graphql';
import { readRole } from '../roles/roles.js';
import { changeRole, removeRole } from '../roles/changeRole.js';
import type { ControlContext } from '../controlContext.js';
import { listField, notFound, numericId, requireInput, type ControlObject } from '../object/controlObject.js';
import { makeRole } from '../roles/makeRole.js';
import { roleInput, type RoleInput } from '../roles/roleInput.js';
import { roleType } from '../roles/roleTypes.js';
import { StoredRow } from '../object/storedRow.js';
import { ID } from '../../graphql/schema/scalars.js';

const input = { input: { type: roleInput } };
const roleid = { roleid: { type: new GraphQLNonNull(ID) } };

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
