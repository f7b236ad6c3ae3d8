import { emailRuleChecks, readOperations } from '../email/checkEmailRule.js';
import { requireAccount } from '../email/emailApikey.js';
import { CREATED } from '../derive/columns.js';
import { emailTypeNotFound } from '../derive/references.js';
import { toAdmins } from '../derive/visibility.js';
import { controlObject } from '../derive/declaration.js';
import { blankToNull, distinct } from '../derive/readValues.js';
import { requireTenantAdmin } from '../permissions.js';

/** Rules: which changes to which tables send an email. */
export const emailRule = controlObject({
  table: 'email_rule',
  label: 'email rule',
  key: ['ruleid'],
  columns: {
    ruleid: { type: 'int8', required: true },
    name: { type: 'text', input: true, required: true, unique: true },
    operations: {
      type: 'text[]',
      input: 'Operations that fire the rule: insert, update, delete, upload.',
      required: true,
      read: readOperations,
    },
    targets: {
      type: 'text[]',
      input: 'Tables that the rule applies to.',
      required: true,
      read: distinct<string>,
    },
    email_type: { type: 'text', input: true, required: true },
    query_roleid: {
      type: 'int4',
      input: "The role that runs the email type's queries.",
      required: true,
    },
    condition: {
      type: 'text',
      input:
        "A filter over new.<column> and old.<column>, such as new.status = 'paid'. If omitted, every change matches.",
      read: blankToNull,
    },
    enabled: {
      type: 'bool',
      input: 'true if omitted.',
      fallback: true,
      nullMeansUnchanged: true,
    },
    delivery: {
      type: 'text',
      input: 'Delivery guarantee: `at_least_once` (default) or `at_most_once`.',
      oneOf: ['at_least_once', 'at_most_once'],
    },
    ...CREATED,
  },
  inputOrder: ['operations', 'targets', 'email_type', 'query_roleid'],
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireTenantAdmin,
  authorize: ({ context, before }) => (before ? undefined : requireAccount(context)),
  checks: emailRuleChecks,
  referenceLost: ({ email_type }) => emailTypeNotFound(email_type),
});
