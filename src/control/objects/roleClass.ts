import { GraphQLBoolean, GraphQLInputObjectType, GraphQLList, GraphQLString } from 'graphql';
import {
  deleteRoleClass,
  insertRoleClass,
  isNamedByRules,
  readHolders,
  readRoleClass,
  updateRoleClass,
  type Inherit,
  type RoleClassRow,
} from '../roles/roleClasses.js';
import { bumpPolicyVersion } from '../tenants/tenants.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { setMembers } from '../roles/classMembers.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, numericId, requireValue } from '../object/controlObject.js';
import { crudObject } from '../object/crudObject.js';
import { denied, requireCapability, requireClasses } from '../permissions.js';
import { requireMember, requireOwnTenant } from '../roles/rolePermissions.js';
import { classType } from '../roles/roleTypes.js';

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
    members: { type: new GraphQLList(ID) },
    allow_signup: {
      type: GraphQLBoolean,
      description: 'Visitors may put a role that they make for themselves into it. Set by root and admins.',
    },
  },
});

interface ClassInput {
  readonly name?: string | null;
  readonly tenantid?: number | null;
  readonly inherit?: string | null;
  readonly members?: readonly (string | null)[] | null;
  readonly allow_signup?: boolean | null;
}

export const roleClass = crudObject<RoleClassRow, number, ClassInput>({
  names: { list: 'role_class', one: 'role_class', spoken: 'class' },
  type: classType,
  input: classInput,
  key: { field: 'classid', read: numericId },
  authorize: (principal, change) => requireCapability(principal, `${change}_class`),
  deleteDescription: 'Takes all roles out of the class and deletes it. Policy rules must not name it.',
  find: ({ db, principal }, classid) => readRoleClass(db, principal.tenantid, classid),
  async create(context, given) {
    const { principal, db } = context;
    requireOwnTenant(context, given.tenantid);
    requireSignupAdmin(principal, given);
    const classid = await insertRoleClass(db, {
      tenantid: principal.tenantid,
      creatorid: principal.roleid,
      name: requireValue(given.name, 'name'),
      inherit: readInherit(given.inherit ?? 'none'),
      allow_signup: given.allow_signup ?? false,
    });
    if (given.members != null) await setMembers(context, classid, [], given.members);
    await bumpPolicyVersion(db, principal.tenantid);
    return classid;
  },
  async update(context, before, given) {
    const { tenantid, classid, members } = before;
    const { principal, db } = context;
    requireOwnTenant(context, given.tenantid);
    requireSignupAdmin(principal, given);
    // Both bring the rules that name the class to other roles.
    if (given.inherit != null || given.members != null) requireClasses(principal, [classid]);
    const inherit = given.inherit == null ? before.inherit : readInherit(given.inherit);
    if (inherit !== before.inherit) await requireMembers(context, classid);
    await updateRoleClass(db, tenantid, classid, {
      ...(given.name === undefined ? {} : { name: requireValue(given.name, 'name') }),
      inherit,
      ...(given.allow_signup == null ? {} : { allow_signup: given.allow_signup }),
    });
    if (given.members != null) await setMembers(context, classid, members, given.members);
    await bumpPolicyVersion(db, tenantid);
    return classid;
  },
  async delete(context, { tenantid, classid }) {
    const { principal, db } = context;
    requireClasses(principal, [classid]);
    await requireMembers(context, classid);
    if (await isNamedByRules(db, tenantid, classid)) {
      throw new AppError('ROLE_CLASS_IN_USE', `Policy rules name the class ${classid}.`, {
        details: { classid },
      });
    }
    await deleteRoleClass(db, tenantid, classid);
    await bumpPolicyVersion(db, tenantid);
  },
});

/** What visitors may become is for administrators to say. Throws AppError PERMISSION_DENIED. */
function requireSignupAdmin(principal: Principal, given: ClassInput): void {
  if (given.allow_signup == null || principal.isAdmin) return;
  throw denied("Only the tenant's root role and admins allow sign-up.", { field: 'allow_signup' });
}

/** Each must be a role that the principal may change, or the principal itself. Throws AppError PERMISSION_DENIED, NOT_FOUND. */
async function requireMembers(context: ControlContext, classid: number): Promise<void> {
  const { db, principal } = context;
  for (const roleid of await readHolders(db, principal.tenantid, classid))
    await requireMember(context, roleid);
}

function readInherit(given: string): Inherit {
  if (given === 'none' || given === 'creation' || given === 'full') return given;
  throw badInput('inherit', 'inherit is none, creation or full.');
}
