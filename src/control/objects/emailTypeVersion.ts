import { CREATED } from '../object/columns.js';
import { controlObject } from '../object/declaration.js';
import { toAdmins } from '../object/visibility.js';
import { requireTenantAdmin } from '../permissions.js';

/** Versions are written with each save of an email type, drafts by `save_email_draft`. */
export const emailTypeVersion = controlObject({
  table: 'email_type_version',
  label: 'version',
  description: 'An email type as it was saved, and its draft.',
  key: ['email_type', 'version'],
  columns: {
    email_type: { type: 'text', required: true },
    version: { type: 'int4', required: true, description: '0 for the draft, which is not live.' },
    content: { type: 'jsonb', required: true, description: 'An input of `update_email_type`.' },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
});
