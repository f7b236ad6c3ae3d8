import { changeRole, removeRole } from '../roles/changeRole.js';
import { createRole } from '../roles/createRole.js';
import { CREATED, OWN_TENANT } from '../object/columns.js';
import { controlObject } from '../object/declaration.js';
import { seenRoles } from '../object/visibility.js';

/** A tenant's roles, a tree by `parentid`. */
export const role = controlObject({
  table: 'role',
  label: 'role',
  key: ['roleid'],
  columns: {
    roleid: { type: 'int4', required: true },
    tenantid: OWN_TENANT,
    login: { type: 'text', input: true },
    name: { type: 'text', input: true },
    password: { type: 'text', input: 'Stored as a hash and never shown.', inputOnly: true },
    parentid: { type: 'int4', input: 'The caller itself when left out.' },
    classes: {
      type: 'int4[]',
      description: 'Those that it was put into; not those that it has from a role above.',
      shows: {
        kind: 'many-to-many',
        target: 'role_class',
        pairs: { roleid: 'roleid' },
        through: { table: 'role_class_member', pairs: { classid: 'classid' } },
      },
      input: true,
    },
    capabilities: { type: 'text[]', input: '`login` when left out.' },
    deleted: { type: 'bool', input: true },
    read_replica: {
      type: 'bool',
      description:
        'Whether its queries may be answered by a replica, which is a little behind, unless they say `X-Read: primary`.',
      input: true,
    },
    ...CREATED,
    password_createtime: { type: 'timestamptz' },
    password_setby: { type: 'int4', description: 'The role that set the password.' },
  },
  relations: {
    children: { kind: 'to-many', target: 'role', pairs: { roleid: 'parentid' } },
    parent: { kind: 'to-one', target: 'role', pairs: { parentid: 'roleid' } },
    tenant: { kind: 'to-one', target: 'tenant', pairs: { tenantid: 'tenantid' } },
  },
  inputOrder: ['login', 'name', 'password'],
  visible: seenRoles,
  // The mutations check permissions themselves.
  mayChange: () => undefined,
  overrides: { create: createRole, update: changeRole, delete: removeRole },
  deleteDescription: 'Marks the role as deleted: it can sign in no more, and its tokens end within a second.',
});
