import { controlObject } from '../derive/declaration.js';
import { toAdmins } from '../derive/visibility.js';

/** The change that caused a delivery, written in its transaction and kept for RETENTION_DAYS. */
export const outbox = controlObject({
  table: 'outbox',
  label: 'change',
  description: 'A committed change, with the row before and after it.',
  key: ['eventid'],
  listed: false,
  columns: {
    eventid: { type: 'int8', output: null },
    time: { type: 'timestamptz' },
    roleid: {
      type: 'int4',
      description: 'The role whose mutation made the change; null for a change made outside the API.',
    },
    writer: {
      type: 'text',
      description: 'The PostgreSQL login that made the change, if it was made outside the API.',
    },
    application: {
      type: 'text',
      description:
        'The application_name of the session that made the change, if it was made outside the API.',
    },
    old: { type: 'json', description: 'The row before; null for an insert.' },
    new: { type: 'json', description: 'The row after; null for a delete.' },
  },
  visible: toAdmins,
});
