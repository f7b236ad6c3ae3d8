import { ID } from '../../graphql/schema/scalars.js';
import { GraphQLList } from 'graphql';
import { badInput } from '../derive/badInput.js';
import { CREATED, OWN_TENANT } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { seenClasses, seenRoles } from '../derive/visibility.js';
import { requireCapability, requireClasses, requireHolding } from '../permissions.js';
import { MAX_NAME_CHARACTERS } from '../roles/rolePermissions.js';
import {
  CLASS_CAPABILITIES,
  emptyClass,
  readClassCapabilities,
  readRoleids,
  requireClassQuota,
  requireHolders,
  requireSignupAdmin,
  setMembers,
} from '../roles/classMembers.js';
import { sql } from '../../db/sql/sql.js';

/** Groups of roles that policy rules can refer to. */
export const roleClass = controlObject({
  table: 'role_class',
  view: 'role_class_shown',
  label: 'class',
  key: ['classid'],
  columns: {
    classid: { type: 'int4', required: true },
    name: {
      type: 'text',
      input: true,
      required: true,
      unique: true,
      maxCharacters: MAX_NAME_CHARACTERS,
    },
    tenantid: OWN_TENANT,
    inherit: {
      type: 'text',
      input:
        'How membership is inherited. `none`: not at all; `creation`: roles created below a member start as members; `full`: all roles below a member count as members.',
      oneOf: ['none', 'creation', 'full'],
      nullMeansUnchanged: true,
    },
    members: {
      type: 'int4[]',
      description: 'Direct members, not roles that inherit membership from a role above.',
      shows: {
        kind: 'many-to-many',
        target: 'role',
        pairs: { tenantid: 'tenantid', classid: 'classid' },
        through: { table: 'role_class_member', pairs: { memberid: 'roleid' } },
      },
      input: { type: new GraphQLList(ID) },
      read: readRoleids,
      fallback: [],
      nullMeansUnchanged: true,
      derived: true,
    },
    capabilities: {
      type: 'text[]',
      input: `What its members may do, besides what they hold themselves: ${CLASS_CAPABILITIES.map((name) => `\`${name}\``).join(', ')}. Not of a class with \`allow_signup\`.`,
      fallback: [],
      nullMeansUnchanged: true,
      read: readClassCapabilities,
    },
    allow_signup: {
      type: 'bool',
      description: 'Whether anonymous clients may sign up into the class.',
      input:
        'If true, an anonymous client may add the role that it creates for itself. Only root and admins may set it.',
      fallback: false,
      nullMeansUnchanged: true,
    },
    ...CREATED,
  },
  visible: seenClasses,
  mayChange: (principal, change) => requireCapability(principal, `${change}_class`),
  authorize({ context: { principal }, given, before }) {
    requireSignupAdmin(principal, given.allow_signup);
    requireHolding(principal, given.capabilities?.filter((name) => name !== null) ?? []);
    // They extend what the class gives to other roles, or give more.
    if (before && (given.inherit != null || given.members != null || given.capabilities != null))
      requireClasses(principal, [before.classid]);
  },
  checks: ({ row }) => [['allow_signup', () => requireNothingGiven(row)]],
  async check({ context, before, row }) {
    if (!before) await requireClassQuota(context);
    if (before && (row.inherit !== before.inherit || !isSame(row.capabilities, before.capabilities)))
      await requireHolders(context, before.classid);
  },
  afterWrite: ({ context, before, row }, { classid }) =>
    setMembers(context, Number(classid), before?.members ?? [], row.members),
  beforeDelete: (context, { classid }) => emptyClass(context, classid),
  deleteDescription: 'Removes all roles from the class and deletes it. No policy rule may refer to it.',
});

/** Of a class that anyone may join. Throws AppError BAD_USER_INPUT. */
function requireNothingGiven({
  allow_signup,
  capabilities = [],
}: {
  readonly allow_signup?: boolean;
  readonly capabilities?: readonly string[];
}): void {
  if (allow_signup && capabilities.length > 0)
    throw badInput('allow_signup', 'A class that anyone may join gives no capabilities.');
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name));

/** Class membership, the join table between roles and classes. */
export const roleClassMember = controlObject({
  table: 'role_class_member',
  label: 'member',
  key: ['roleid'],
  listed: false,
  columns: {
    roleid: { type: 'int4' },
    tenantid: { type: 'int4' },
    parentid: { type: 'int4' },
    classid: { type: 'int4' },
    memberid: { type: 'int4' },
  },
  visible: (principal, row) => sql`${seenRoles(principal, row)} and ${seenClasses(principal, row)}`,
});
