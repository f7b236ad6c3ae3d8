import { GraphQLList, GraphQLString } from 'graphql';
import { AppError } from '../../foundation/errors.js';
import { ID } from '../../graphql/schema/scalars.js';
import { addressesType, readRecipients } from '../email/addresses.js';
import { checkEmailType } from '../email/checkEmailType.js';
import { requireAccount } from '../email/emailApikey.js';
import {
  deleteVersions,
  recordCurrentVersion,
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
import { requireOnlyWording } from '../email/wording.js';
import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { blankToNull } from '../derive/readValues.js';
import { seenEmails } from '../derive/visibility.js';
import { requireEmailEditor, requireTenantAdmin } from '../permissions.js';

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
      input: {
        type: ID,
        description: 'Unique name, at most 200 characters, without slashes and control characters.',
      },
      required: true,
      read: readPlainName,
      unique: true,
      control: { kind: 'line', label: 'Name' },
    },
    template: {
      type: 'text',
      input: 'The HTML body, a template.',
      required: true,
      control: { kind: 'area', label: 'Template (HTML)' },
    },
    subject: {
      type: 'text',
      input: 'The subject line, a template.',
      required: true,
      control: { kind: 'line', label: 'Subject' },
    },
    recipients: {
      type: 'jsonb',
      output: addressesType,
      input: {
        type: listOfStrings,
        description: 'Address templates, or a single template that renders to a JSON list of addresses.',
      },
      required: true,
      read: readRecipients,
      control: { kind: 'list', label: 'To', note: 'One per line.' },
    },
    sender: {
      type: 'text',
      input: 'The From address; may be templated.',
      required: true,
      control: { kind: 'line', label: 'From', note: 'Such as Shop <shop@example.com>' },
    },
    queries: {
      type: 'jsonb',
      output: new GraphQLList(emailQueryType),
      input: { type: new GraphQLList(emailQueryInput) },
      fallback: [],
      read: readQueries,
      control: { kind: 'queries', label: 'Queries' },
    },
    options: {
      type: 'jsonb',
      output: emailOptionsType,
      input: { type: emailOptionsInput },
      fallback: {},
      read: readOptions,
      memberControls: {
        cc: { kind: 'list', label: 'Cc', note: 'One per line.' },
        bcc: { kind: 'list', label: 'Bcc', note: 'One per line.' },
      },
    },
    attachments: {
      type: 'jsonb',
      output: listOfStrings,
      input: {
        type: listOfStrings,
        description:
          'Files to attach: `file` for the uploaded file, outvars of queries that select files, or columns that name a file.',
      },
      fallback: [],
      read: readAttachments,
      control: { kind: 'list', label: 'Attachments', note: 'Names of queries or columns, one per line.' },
    },
    text: {
      type: 'text',
      input:
        'The plain-text part, a template. Generated from the HTML if omitted; the word `none` sends HTML only.',
      read: blankToNull,
      control: {
        kind: 'area',
        label: 'Text part',
        note: 'Generated from the HTML if empty; "none" sends no text part.',
      },
    },
    preheader: {
      type: 'text',
      input:
        'Preview text that email clients show next to the subject, a template. Inserted as hidden text at the start of the HTML.',
      read: blankToNull,
      control: { kind: 'line', label: 'Preheader', note: 'Shown next to the subject in the inbox.' },
    },
    reply_to: {
      type: 'text',
      input: 'Reply-To: one or more addresses; may be templated.',
      read: blankToNull,
      control: { kind: 'line', label: 'Reply to' },
    },
    headers: {
      type: 'jsonb',
      input:
        'Additional headers: an object of templates by header name, such as `{"List-ID": "<news.example.com>"}`.',
      fallback: {},
      read: readHeaders,
      control: { kind: 'json', label: 'Headers', note: 'A JSON object of templates by name.' },
    },
    categories: {
      type: 'jsonb',
      output: listOfStrings,
      input: {
        type: listOfStrings,
        description: "Categories for the carrier's statistics, at most 10; may be templated.",
      },
      fallback: [],
      read: readCategories,
      control: { kind: 'list', label: 'Categories', note: 'One per line.' },
    },
    syntax: {
      type: 'text',
      input: 'Template language: `jinja2` (default) or `liquid`.',
      oneOf: ['jinja2', 'liquid'],
      control: { kind: 'choice', label: 'Syntax' },
    },
    undefined: {
      type: 'text',
      input:
        'How templates treat missing names and attributes: `lenient` (default) renders nothing, `strict` fails the delivery.',
      oneOf: ['lenient', 'strict'],
      control: {
        kind: 'choice',
        label: 'Missing names',
        note: 'What happens if the template uses a name that nothing provides.',
        choiceLabels: { lenient: 'Print nothing', strict: "Don't send" },
      },
    },
    locale: {
      type: 'text',
      input:
        'Language of the email; may be templated: `{{ customer[0].language }}`. `de-AT` selects the email type `<name>_de_AT`, else `<name>_de`, else this one.',
      read: blankToNull,
      control: {
        kind: 'line',
        label: 'Language',
        note: 'Empty, or a template such as {{ customer[0].language }}. de-AT selects the email NAME_de_AT, else NAME_de, else this one.',
      },
    },
    unsubscribe: {
      type: 'text',
      input:
        'What the one-click unsubscribe link covers: `none` (default; no link), email of this `type`, or `all` email of types with an unsubscribe link.',
      oneOf: ['none', 'type', 'all'],
      control: {
        kind: 'choice',
        label: 'Unsubscribe',
        note: 'What recipients can unsubscribe from with one click. Meant for email that they did not request individually. A link in the email itself is {{ unsubscribe_url }}.',
        choiceLabels: { none: 'No link', type: 'From this email', all: 'From all email with a link' },
      },
    },
    notes: { type: 'text', input: 'For its authors; not sent.', control: { kind: 'area', label: 'Notes' } },
    version: { type: 'int4', required: true, description: 'Version number, incremented on every save.' },
    based_on: {
      type: 'int4',
      inputOnly: true,
      input:
        'The version that the update is based on; refused with EMAIL_TYPE_CHANGED if the current version is another one.',
    },
    layout_names: { type: 'text[]', internal: true },
    any_layout: { type: 'bool', internal: true },
    ...CREATED,
  },
  visible: seenEmails,
  mayList: requireEmailEditor,
  mayChange: (principal, change) =>
    change === 'update' ? requireEmailEditor(principal) : requireTenantAdmin(principal),
  authorize: async ({ context, before, given }) => {
    if (!before) return requireAccount(context);
    requireOnlyWording(context.principal, given);
    await requireUnchanged(context, before.email_type, given.based_on);
    return recordCurrentVersion(context, before.email_type);
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
