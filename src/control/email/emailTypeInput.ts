import { GraphQLInputObjectType, GraphQLList, GraphQLNonNull, GraphQLString } from 'graphql';
import type { EmailOptions, EmailQuery, EmailTypeValues } from './emailTypeRows.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { readAddresses, readRecipients } from './addresses.js';
import { badInput, requireItems, requireValue } from '../object/controlObject.js';

const emailQueryInput = new GraphQLInputObjectType({
  name: 'email_queryInput',
  fields: {
    query: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'A query for /query; its variables are filter, ordering, limit and offset.',
    },
    filter: { type: GraphQLString, description: 'May be templated.' },
    ordering: { type: new GraphQLList(GraphQLString) },
    limit: { type: SCALARS.Int },
    offset: { type: SCALARS.Int },
    outvar: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'The name of the result in the templates.',
    },
  },
});

const emailOptionsInput = new GraphQLInputObjectType({
  name: 'email_optionsInput',
  fields: {
    cc: { type: new GraphQLList(GraphQLString), description: 'May be templated.' },
    bcc: { type: new GraphQLList(GraphQLString), description: 'May be templated.' },
  },
});

/** Updates are partial, so that what a new type needs is required in fact and not in the type. */
export const emailTypesInput = new GraphQLInputObjectType({
  name: 'email_typesInput',
  fields: {
    email_type: { type: ID, description: 'Its name: letters, digits and underscores.' },
    template: { type: GraphQLString, description: 'The HTML document, a template.' },
    subject: { type: GraphQLString, description: 'A template.' },
    recipients: {
      type: new GraphQLList(GraphQLString),
      description: 'Templates of addresses, or one string that renders to a JSON list of addresses.',
    },
    sender: { type: GraphQLString, description: 'May be templated.' },
    queries: { type: new GraphQLList(emailQueryInput) },
    options: { type: emailOptionsInput },
    attachments: {
      type: new GraphQLList(GraphQLString),
      description:
        'Files that go with the mail: `file` of an upload, outvars of queries that select files, or columns that name a file.',
    },
    syntax: { type: GraphQLString, description: '`jinja2` (default) or `liquid`.' },
  },
});

type Strings = readonly (string | null)[];

export interface EmailTypeInput {
  readonly email_type?: string | null;
  readonly template?: string | null;
  readonly subject?: string | null;
  readonly recipients?: Strings | null;
  readonly sender?: string | null;
  readonly queries?: readonly (EmailQueryInput | null)[] | null;
  readonly options?: { readonly cc?: Strings | null; readonly bcc?: Strings | null } | null;
  readonly attachments?: Strings | null;
  readonly syntax?: string | null;
}

interface EmailQueryInput {
  readonly query: string;
  readonly filter?: string | null;
  readonly ordering?: Strings | null;
  readonly limit?: number | null;
  readonly offset?: number | null;
  readonly outvar: string;
}

/** A template name can't be one of these: the service gives them. */
const CONTEXT_NAMES = ['records', 'operation', 'target', 'now', 'base_url', 'file'];

/** A whole email type. Throws AppError BAD_USER_INPUT for what is missing or has the wrong form. */
export function readNewEmailType(input: EmailTypeInput): EmailTypeValues {
  return {
    email_type: readName(input.email_type),
    template: requireValue(input.template, 'template'),
    subject: requireValue(input.subject, 'subject'),
    recipients: readRecipients(input.recipients),
    sender: requireValue(input.sender, 'sender'),
    queries: readQueries(input.queries),
    options: readOptions(input.options),
    attachments: readAttachments(input.attachments),
    syntax: readSyntax(input.syntax),
  };
}

/** The values that an update gives; the others stay as `before` has them. Throws AppError BAD_USER_INPUT. */
export function readChangedEmailType(input: EmailTypeInput, before: EmailTypeValues): EmailTypeValues {
  const { email_type, template, subject, recipients, sender, queries, options, attachments, syntax } = input;
  return {
    email_type: email_type === undefined ? before.email_type : readName(email_type),
    template: template === undefined ? before.template : requireValue(template, 'template'),
    subject: subject === undefined ? before.subject : requireValue(subject, 'subject'),
    recipients: recipients === undefined ? before.recipients : readRecipients(recipients),
    sender: sender === undefined ? before.sender : requireValue(sender, 'sender'),
    queries: queries === undefined ? before.queries : readQueries(queries),
    options: options === undefined ? before.options : readOptions(options),
    attachments: attachments === undefined ? before.attachments : readAttachments(attachments),
    syntax: syntax === undefined ? before.syntax : readSyntax(syntax),
  };
}

function readName(name: string | null | undefined): string {
  const given = requireValue(name, 'email_type');
  // A line break or a slash would survive in logs, links and file names.
  if (given.length > 200 || /[\p{Cc}/]/u.test(given)) {
    throw badInput('email_type', 'email_type must be a plain name of at most 200 characters.');
  }
  return given;
}

function readQueries(given: EmailTypeInput['queries']): readonly EmailQuery[] {
  const outvars = new Set<string>();
  return requireItems(given ?? [], 'queries').map((query, index) => {
    const field = `queries[${index}]`;
    const { outvar } = query;
    if (!/^[A-Za-z_]\w*$/.test(outvar) || CONTEXT_NAMES.includes(outvar)) {
      throw badInput(`${field}.outvar`, `"${outvar}" can't be the name of a result.`);
    }
    if (outvars.has(outvar)) throw badInput(`${field}.outvar`, `Two queries have the outvar "${outvar}".`);
    outvars.add(outvar);
    return {
      query: requireValue(query.query, `${field}.query`),
      filter: query.filter ?? null,
      ordering: query.ordering == null ? null : requireItems(query.ordering, `${field}.ordering`),
      limit: query.limit ?? null,
      offset: query.offset ?? null,
      outvar,
    };
  });
}

function readOptions(given: EmailTypeInput['options']): EmailOptions {
  return {
    ...(given?.cc == null ? {} : { cc: readAddresses(given.cc, 'options.cc') }),
    ...(given?.bcc == null ? {} : { bcc: readAddresses(given.bcc, 'options.bcc') }),
  };
}

/** Which columns there are is known when a table is: with the rule, and with the row. */
function readAttachments(given: EmailTypeInput['attachments']): readonly string[] {
  const names = requireItems(given ?? [], 'attachments');
  for (const [index, name] of names.entries()) {
    if (!/^[A-Za-z_]\w{0,62}$/.test(name)) {
      throw badInput(`attachments[${index}]`, `"${name}" can't be the name of a column or a query.`);
    }
  }
  return [...new Set(names)];
}

function readSyntax(given: string | null | undefined): 'jinja2' | 'liquid' {
  const syntax = given ?? 'jinja2';
  if (syntax !== 'jinja2' && syntax !== 'liquid') throw badInput('syntax', 'syntax is jinja2 or liquid.');
  return syntax;
}
