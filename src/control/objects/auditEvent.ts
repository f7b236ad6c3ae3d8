import { GraphQLList, GraphQLString } from 'graphql';
import { AUDIT_EVENT_DAYS } from '../../db/roles/auditEvents.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import { administered } from '../audit/administered.js';
import { controlObject } from '../derive/declaration.js';

/** Who changed what, written in the transaction of each change. */
export const auditEvent = controlObject({
  table: 'audit_event',
  label: 'audit event',
  description: `Who changed what by this API or the console, kept for ${AUDIT_EVENT_DAYS} days. Secrets are never in it.`,
  key: ['eventid'],
  columns: {
    eventid: { type: 'uuid', required: true },
    time: { type: 'timestamptz' },
    roleid: { type: 'int4', description: 'The role that made the change.' },
    login: { type: 'text', description: 'Its login then.' },
    actors: {
      type: 'int4[]',
      output: new GraphQLList(SCALARS.Int),
      description: 'The roles that acted as it, by `role_token`.',
    },
    keyid: { type: 'uuid', description: 'The API key that it was made with.', output: GraphQLString },
    object: {
      type: 'text',
      description: 'What was changed: an object of this API, or a setting of `Utility`.',
    },
    key: {
      type: 'text',
      description:
        'Which one; null if the tenant has only one, or it was several. Values of several columns are separated by spaces.',
    },
    operation: {
      type: 'text',
      description: 'create, update, delete, or the name of the mutation of `Utility`.',
    },
    changes: {
      type: 'jsonb',
      description:
        'A list of `{column, before, after}`. Values of more than 2,000 characters are cut; `email_type_version` has those of emails in full.',
    },
  },
  relations: {
    role: { kind: 'to-one', target: 'role', pairs: { roleid: 'roleid' } },
  },
  visible: administered,
});
