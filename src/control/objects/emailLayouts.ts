import { ID } from '../../graphql/schema/scalars.js';
import { checkEmailLayout, checkDependents, requireNoDependents } from '../email/checkEmailLayout.js';
import { readPlainName } from '../email/emailTypeParts.js';
import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { toAdmins } from '../derive/visibility.js';
import { requireTenantAdmin } from '../permissions.js';

/** Layouts, which templates of email types and other layouts extend, include and import. */
export const emailLayouts = controlObject({
  table: 'email_layouts',
  singular: 'email_layout',
  label: 'email layout',
  key: ['name'],
  columns: {
    name: {
      type: 'text',
      input: { type: ID, description: 'Unique name, as used in `{% extends "name" %}`.' },
      required: true,
      read: readPlainName,
      unique: true,
    },
    template: { type: 'text', input: 'A Jinja2 template.', required: true },
    layout_names: { type: 'text[]', internal: true },
    any_layout: { type: 'bool', internal: true },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireTenantAdmin,
  derive: checkEmailLayout,
  afterWrite: ({ context, before, row }) => checkDependents(context, [before?.name ?? row.name, row.name]),
  beforeDelete: (context, { name }) => requireNoDependents(context, name),
});
