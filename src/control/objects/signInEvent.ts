import { isAnonymous } from '../../db/roles/principal.js';
import { controlObject } from '../derive/declaration.js';
import { ofOwnRoles } from '../derive/visibility.js';

/** Who signed in, was refused, or signed out, written by the service and kept for SIGN_IN_EVENT_DAYS. */
export const signInEvent = controlObject({
  table: 'sign_in_event',
  label: 'sign-in event',
  description: 'Who signed in, was refused, or signed out, kept for SIGN_IN_EVENT_DAYS.',
  key: ['eventid'],
  columns: {
    eventid: { type: 'uuid', required: true },
    time: { type: 'timestamptz' },
    last_time: { type: 'timestamptz', description: 'Of the last of those that the row counts.' },
    count: {
      type: 'int4',
      description: 'Events that are alike are one row: refusals within an hour, others within a minute.',
    },
    kind: {
      type: 'text',
      description:
        'signed_in, refused, provisioned (a role was created or linked), classes_changed (by groups), signed_out or password_email (to somebody who has forgotten the password).',
    },
    roleid: { type: 'int4', description: 'Null if no role has the refused login, or too many were refused.' },
    confid: { type: 'int4', description: 'The configuration of the provider; null for a password.' },
    provider: { type: 'text', description: 'The name that the provider had then.' },
    reason: {
      type: 'text',
      description:
        'Of a refusal, or of an email that was not sent, the code of the error. Of changed classes, the names of those joined and left. Of a sign-out: `console`, `program`, `provider`, `ended` (one session), `others` or `all`.',
    },
    address: { type: 'text', description: 'One /64 for IPv6.' },
    actorid: { type: 'int4', description: 'The role that ended the sessions.' },
  },
  // Attempts to sign in as Nobody are no business of anonymous clients, who all are.
  visible: (principal, row) => (isAnonymous(principal) ? 'none' : ofOwnRoles(principal, row)),
});
