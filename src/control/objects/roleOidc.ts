import { ID } from '../../graphql/schema/scalars.js';
import { CREATED, CURRENT_PASSWORD } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { ofOwnRoles } from '../derive/visibility.js';
import { updateMapping, createMapping, readMappingKey, deleteMapping } from '../oidc/oidcMappings.js';

/** Maps identities at a provider to roles. */
export const roleOidc = controlObject({
  table: 'role_oidc',
  label: 'mapping of role',
  key: ['roleid', 'confid'],
  keySeparator: ' through configuration ',
  columns: {
    roleid: { type: 'int4', input: { type: ID }, required: true },
    confid: { type: 'int4', input: { type: ID }, required: true },
    sub_id: {
      type: 'text',
      input: "The user's value of the ID token claim named by the provider's comparison_field.",
      required: true,
    },
    current_password: CURRENT_PASSWORD,
    ...CREATED,
  },
  visible: ofOwnRoles,
  // The mutations check permissions themselves.
  mayChange: () => undefined,
  overrides: { readKey: readMappingKey, create: createMapping, update: updateMapping, delete: deleteMapping },
});
