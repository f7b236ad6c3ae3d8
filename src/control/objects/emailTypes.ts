import { GraphQLList, GraphQLString } from 'graphql';
import { AppError } from '../../errors.js';
import { ID } from '../../graphql/schema/scalars.js';
import { addressesType, readRecipients } from '../email/addresses.js';
import { checkEmailType } from '../email/checkEmailType.js';
import { requireAccount } from '../email/emailApikey.js';
import {
  deleteVersions,
  recordFirstVersion,
  recordVersion,
  requireUnchanged,
} from '../email/emailTypeHistory.js';
import { readCategories, readHeaders } from '../email/headersAndCategories.js';
import {
  emailOptionsInput,
  emailOptionsType,
  emailQueryInput,
  emailQueryType,
  readAttachments,
  readOptions,
  readPlainName,
  readQueries,
} from '../email/emailTypeParts.js';
import { renameUnsubscribed } from '../email/unsubscribed.js';
import { CREATED } from '../object/columns.js';
import { controlObject } from '../object/declaration.js';
import { blankToNull } from '../object/readValues.js';
import { toAdmins } from '../object/visibility.js';
import { requireTenantAdmin } from '../permissions.js';

const listOfStrings = new GraphQLList(GraphQLString);

/** Email types: templates, and the queries whose results they use. */
export const emailTypes = controlObject({
  table: 'email_types',
  singular: 'email_type',
  label: 'email type',
  key: ['email_type'],
  columns: {
    email_type: {
      type: 'text',
      input: { type: ID, description: 'Its name: letters, digits and underscores.' },
      required: true,
      read: readPlainName,
      unique: true,
    },
    template: { type: 'text', input: 'The HTML document, a template.', required: true },
    subject: { type: 'text', input: 'A template.', required: true },
    recipients: {
      type: 'jsonb',
      output: addressesType,
      input: {
        type: listOfStrings,
        description: 'Templates of addresses, or one string that renders to a JSON list of addresses.',
      },
      fallback: [],
      read: readRecipients,
    },
    sender: { type: 'text', input: 'May be templated.', required: true },
    queries: {
      type: 'jsonb',
      output: new GraphQLList(emailQueryType),
      input: { type: new GraphQLList(emailQueryInput) },
      fallback: [],
      read: readQueries,
    },
    options: {
      type: 'jsonb',
      output: emailOptionsType,
      input: { type: emailOptionsInput },
      fallback: {},
      read: readOptions,
    },
    attachments: {
      type: 'jsonb',
      output: listOfStrings,
      input: {
        type: listOfStrings,
        description:
          'Files that go with the mail: `file` of an upload, outvars of queries that select files, or columns that name a file.',
      },
      fallback: [],
      read: readAttachments,
    },
    text: {
      type: 'text',
      input:
        'The plain text part, a template. Made from the HTML when left out; the word `none` sends the HTML alone.',
      read: blankToNull,
    },
    preheader: {
      type: 'text',
      input:
        'What mailboxes show beside the subject, a template. It is put, hidden, at the start of the HTML.',
      read: blankToNull,
    },
    reply_to: {
      type: 'text',
      input: 'Where answers go: one or more addresses, may be templated.',
      read: blankToNull,
    },
    headers: {
      type: 'jsonb',
      input: 'Further headers: an object of templates by name, such as `{"List-ID": "<news.example.com>"}`.',
      fallback: {},
      read: readHeaders,
    },
    categories: {
      type: 'jsonb',
      output: listOfStrings,
      input: {
        type: listOfStrings,
        description: "For the carrier's statistics: at most 10, may be templated.",
      },
      fallback: [],
      read: readCategories,
    },
    syntax: {
      type: 'text',
      input: '`jinja2` (default) or `liquid`.',
      oneOf: ['jinja2', 'liquid'],
    },
    undefined: {
      type: 'text',
      input:
        'What a name or an attribute that is missing does: `lenient` (default) prints nothing, `strict` fails the delivery.',
      oneOf: ['lenient', 'strict'],
    },
    locale: {
      type: 'text',
      input:
        'The language of the mail, may be templated: `{{ customer[0].language }}`. `de-AT` takes the email type `<name>_de_AT`, else `<name>_de`, else this one.',
      read: blankToNull,
    },
    unsubscribe: {
      type: 'text',
      input:
        'What recipients can unsubscribe from, with one click: `none` (default), mail of this `type`, or `all` mail of types with a link to unsubscribe.',
      oneOf: ['none', 'type', 'all'],
    },
    version: { type: 'int4', required: true, description: 'Counts the times it was saved.' },
    based_on: {
      type: 'int4',
      inputOnly: true,
      input: 'The version that is changed: refused with EMAIL_TYPE_CHANGED when there is another by now.',
    },
    layout_names: { type: 'text[]', internal: true },
    any_layout: { type: 'bool', internal: true },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireTenantAdmin,
  authorize: async ({ context, before, given }) => {
    if (!before) return requireAccount(context);
    await requireUnchanged(context, before.email_type, given.based_on);
    return recordFirstVersion(context, before.email_type);
  },
  derive: ({ context, row }) => checkEmailType(context, row),
  async afterWrite({ context, row, before }) {
    await recordVersion(context, row.email_type, before?.email_type);
    if (before && before.email_type !== row.email_type)
      await renameUnsubscribed(context, before.email_type, row.email_type);
  },
  beforeDelete: (context, { email_type }) => deleteVersions(context, email_type),
  inUse: ({ email_type }) =>
    new AppError('EMAIL_TYPE_IN_USE', `Email rules use the email type "${email_type}".`, {
      details: { email_type },
    }),
});
