import {
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { addressesType, readAddresses, requireFewItems, type Addresses } from './addresses.js';
import { badInput, requireItems, requireValue } from '../derive/badInput.js';

/** A query whose result templates access as `outvar`. */
export interface EmailQuery {
  readonly query: string;
  readonly filter: string | null;
  readonly ordering: readonly string[] | null;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly outvar: string;
}

interface EmailOptions {
  readonly cc?: Addresses;
  readonly bcc?: Addresses;
}

export const emailQueryType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_query',
  fields: {
    query: { type: GraphQLString },
    filter: { type: GraphQLString },
    ordering: { type: new GraphQLList(GraphQLString) },
    limit: { type: SCALARS.Int },
    offset: { type: SCALARS.Int },
    outvar: { type: GraphQLString },
  },
});

export const emailOptionsType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_options',
  fields: { cc: { type: addressesType }, bcc: { type: addressesType } },
});

export const emailQueryInput = new GraphQLInputObjectType({
  name: 'email_queryInput',
  fields: {
    query: {
      type: new GraphQLNonNull(GraphQLString),
      description:
        'A GraphQL query for /query. The fields filter, ordering, limit and offset provide its variables of the same names.',
    },
    filter: { type: GraphQLString, description: "Value of the query's variable filter; may be templated." },
    ordering: { type: new GraphQLList(GraphQLString) },
    limit: { type: SCALARS.Int },
    offset: { type: SCALARS.Int },
    outvar: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'Name of the result in templates.',
    },
  },
});

export const emailOptionsInput = new GraphQLInputObjectType({
  name: 'email_optionsInput',
  fields: {
    cc: { type: new GraphQLList(GraphQLString), description: 'Cc addresses; may be templated.' },
    bcc: { type: new GraphQLList(GraphQLString), description: 'Bcc addresses; may be templated.' },
  },
});

type Strings = readonly (string | null)[] | null;

interface EmailQueryInput {
  readonly query: string;
  readonly filter?: string | null;
  readonly ordering?: Strings;
  readonly limit?: number | null;
  readonly offset?: number | null;
  readonly outvar: string;
}

/** Names that the service defines in templates besides `records`. */
export const CONTEXT_NAMES: readonly string[] = ['operation', 'target', 'now', 'base_url', 'file'];
/** No outvar may use them. */
const RESERVED_NAMES = ['records', ...CONTEXT_NAMES];

const MAX_NAME_CHARACTERS = 200;
/** All of them run for each email. */
const MAX_QUERIES = 100;

/** Line breaks and slashes would end up in logs, links and file names. Throws AppError BAD_USER_INPUT. */
export function readPlainName(name: string, field: string): string {
  if (name.length <= MAX_NAME_CHARACTERS && !/[\p{Cc}/]/u.test(name)) return name;
  throw badInput(field, `${field} must be a plain name of at most ${MAX_NAME_CHARACTERS} characters.`);
}

/** Throws AppError BAD_USER_INPUT. */
export function readQueries(given: readonly (EmailQueryInput | null)[]): readonly EmailQuery[] {
  if (given.length > MAX_QUERIES) throw badInput('queries', `queries may contain at most ${MAX_QUERIES}.`);
  const outvars = new Set<string>();
  return requireItems(given, 'queries').map((query, index) => {
    const field = `queries[${index}]`;
    const { outvar } = query;
    if (!/^[A-Za-z_]\w*$/.test(outvar) || RESERVED_NAMES.includes(outvar)) {
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

/** Throws AppError BAD_USER_INPUT. */
export function readOptions({ cc, bcc }: { readonly cc?: Strings; readonly bcc?: Strings }): EmailOptions {
  return {
    ...(cc == null ? {} : { cc: readAddresses(cc, 'options.cc') }),
    ...(bcc == null ? {} : { bcc: readAddresses(bcc, 'options.bcc') }),
  };
}

/** That columns exist is checked against the rules' tables, not here. Throws AppError BAD_USER_INPUT. */
export function readAttachments(given: readonly (string | null)[]): readonly string[] {
  const names = requireFewItems(given, 'attachments');
  for (const [index, name] of names.entries()) {
    if (!/^[A-Za-z_]\w{0,62}$/.test(name)) {
      throw badInput(`attachments[${index}]`, `"${name}" can't be the name of a column or a query.`);
    }
  }
  return [...new Set(names)];
}
