import {
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import {
  deleteRoleClass,
  insertRoleClass,
  isNamedByRules,
  readRoleClass,
  updateRoleClass,
  type Inherit,
  type RoleClassRow,
} from '../../db/control/roleClasses.js';
import { bumpPolicyVersion } from '../../db/control/tenants.js';
import { AppError } from '../../errors.js';
import { SCALARS } from '../schema/scalars.js';
import { setMembers } from './classMembers.js';
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
import { requireCapability, requireClasses } from './permissions.js';
import { requireOwnTenant } from './rolePermissions.js';
import { StoredRow } from './storedRow.js';

const classType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'role_class',
  fields: {
    classid: { type: new GraphQLNonNull(GraphQLID) },
    name: { type: GraphQLString },
    tenantid: { type: SCALARS.Int },
    inherit: { type: GraphQLString },
    members: {
      type: new GraphQLList(GraphQLID),
      description: 'The roles that were put there; not those that have it from a role above.',
    },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

const classInput = new GraphQLInputObjectType({
  name: 'role_classInput',
  fields: {
    name: { type: GraphQLString },
    tenantid: { type: SCALARS.Int, description: "The caller's own tenant." },
    inherit: {
      type: GraphQLString,
      description:
        '`none`; `creation`: roles made below a member begin as members; `full`: all roles below a member count as members.',
    },
    members: { type: new GraphQLList(GraphQLID) },
  },
});

interface ClassInput {
  readonly name?: string | null;
  readonly tenantid?: number | null;
  readonly inherit?: string | null;
  readonly members?: readonly (string | null)[] | null;
}

const input = { input: { type: classInput } };
const classid = { classid: { type: new GraphQLNonNull(GraphQLID) } };

export const roleClass: ControlObject = {
  queries: { role_class: listField(classType, 'role_class') },
  mutations: {
    create_role_class: {
      type: classType,
      args: input,
      resolve: async (_source, args: { input?: ClassInput | null }, context) => {
        const { principal, db } = context;
        requireCapability(principal, 'create_class');
        const given = requireInput(args);
        requireOwnTenant(context, given.tenantid);
        const id = await insertRoleClass(db, {
          tenantid: principal.tenantid,
          creatorid: principal.roleid,
          name: requireValue(given.name, 'name'),
          inherit: readInherit(given.inherit ?? 'none'),
        });
        if (given.members != null) await setMembers(context, id, [], given.members);
        await bumpPolicyVersion(db, principal.tenantid);
        return stored(context, id);
      },
    },
    update_role_class: {
      type: classType,
      args: { ...classid, ...input },
      resolve: async (_source, args: { classid: string; input?: ClassInput | null }, context) => {
        const { principal, db } = context;
        requireCapability(principal, 'update_class');
        const given = requireInput(args);
        requireOwnTenant(context, given.tenantid);
        const { row: before } = await stored(context, numericId(args.classid, 'class'));
        // Both bring the rules that name the class to other roles.
        if (given.inherit != null || given.members != null) requireClasses(principal, [before.classid]);
        await updateRoleClass(db, principal.tenantid, before.classid, {
          ...(given.name === undefined ? {} : { name: requireValue(given.name, 'name') }),
          ...(given.inherit == null ? {} : { inherit: readInherit(given.inherit) }),
        });
        if (given.members != null) await setMembers(context, before.classid, before.members, given.members);
        await bumpPolicyVersion(db, principal.tenantid);
        return stored(context, before.classid);
      },
    },
    delete_role_class: {
      type: classType,
      args: classid,
      description: 'Takes all roles out of the class and deletes it. Policy rules must not name it.',
      resolve: async (_source, args: { classid: string }, context) => {
        const { principal, db } = context;
        requireCapability(principal, 'delete_class');
        const before = await stored(context, numericId(args.classid, 'class'));
        const id = before.row.classid;
        requireClasses(principal, [id]);
        if (await isNamedByRules(db, principal.tenantid, id)) {
          throw new AppError('ROLE_CLASS_IN_USE', `Policy rules name the class ${id}.`, {
            details: { classid: id },
          });
        }
        await deleteRoleClass(db, principal.tenantid, id);
        await bumpPolicyVersion(db, principal.tenantid);
        return before;
      },
    },
  },
};

function readInherit(given: string): Inherit {
  if (given === 'none' || given === 'creation' || given === 'full') return given;
  throw badInput('inherit', 'inherit is none, creation or full.');
}

async function stored({ db, principal }: ControlContext, id: number): Promise<StoredRow<RoleClassRow>> {
  const row = await readRoleClass(db, principal.tenantid, id);
  if (!row) throw notFound('class', id);
  return new StoredRow(row);
}
