import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { seenEmails } from '../derive/visibility.js';
import { requireEmailEditor } from '../permissions.js';

/** Versions are written with each save of an email type, drafts by `save_email_draft`. */
export const emailTypeVersion = controlObject({
  table: 'email_type_version',
  label: 'version',
  description: 'A saved version of an email type, or its draft.',
  key: ['email_type', 'version'],
  columns: {
    email_type: { type: 'text', required: true },
    version: {
      type: 'int4',
      required: true,
      description: 'Version number; 0 is the draft, which is not live.',
    },
    content: {
      type: 'jsonb',
      required: true,
      description: 'The content, in the form of the input of `update_email_type`.',
    },
    ...CREATED,
  },
  visible: seenEmails,
  mayList: requireEmailEditor,
});
