import { changeRole, removeRole } from '../roles/changeRole.js';
import { createRole } from '../roles/createRole.js';
import { CREATED, CURRENT_PASSWORD, OWN_TENANT } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { seenRoles } from '../derive/visibility.js';

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
    password: { type: 'text', input: 'Stored as a hash and never returned.', inputOnly: true },
    current_password: CURRENT_PASSWORD,
    parentid: { type: 'int4', input: 'The parent role; the caller if omitted.' },
    classes: {
      type: 'int4[]',
      description: 'Classes of which the role is a direct member, not those inherited from a role above.',
      shows: {
        kind: 'many-to-many',
        target: 'role_class',
        pairs: { roleid: 'roleid' },
        through: { table: 'role_class_member', pairs: { classid: 'classid' } },
      },
      input: true,
    },
    capabilities: {
      type: 'text[]',
      input:
        'If omitted, `login` for a role with a password, if whoever creates it may give that; otherwise none.',
    },
    deleted: { type: 'bool', input: true },
    read_replica: {
      type: 'bool',
      description:
        'Whether queries of the role may be served by a replica, which lags slightly, unless they have the header `X-Read: primary`.',
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
  deleteDescription:
    'Marks the role as deleted: it can no longer sign in, and its tokens become invalid within a second.',
});
