import {
  GraphQLBoolean,
  GraphQLList,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfigMap,
} from 'graphql';
import type { EmailFailure } from '../../email/email.js';
import type { Composed } from '../../email/composeEmail.js';
import { toShownEmail } from '../../email/sentEmail.js';
import { warningsOf } from '../../email/warnings.js';
import { removeMarks } from '../../email/templateRecords.js';
import { exceedsValueCount } from '../../foundation/json/jsonText.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { warningsOfType } from './checkEmail.js';
import { limitValues } from '../request/documentLimits.js';
import { composeOnRequest, COMPOSE_ARGS, type ComposeArgs } from './composeOnRequest.js';
import { cutLists } from './cutLists.js';
import { readEmailType } from './readEmailType.js';
import { emailErrorType } from './emailErrorType.js';

const previewQueryType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_preview_query',
  fields: {
    outvar: { type: GraphQLString },
    result: { type: SCALARS.GenericScalar },
    error: { type: GraphQLString },
  },
});

export const attachmentType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_preview_attachment',
  fields: {
    filename: { type: GraphQLString },
    mimetype: { type: GraphQLString },
    size: { type: SCALARS.BigInt, description: 'Size in bytes.' },
    inline: {
      type: GraphQLBoolean,
      description: 'Whether the HTML shows it inline, as `cid:<storagekey>`.',
    },
  },
});

/** A `ShownEmail`, except for its attachments. */
export const emailFields: GraphQLFieldConfigMap<unknown, ControlContext> = {
  subject: { type: GraphQLString },
  html: { type: GraphQLString },
  text: { type: GraphQLString, description: 'The plain-text part; null if the email is HTML only.' },
  sender: { type: GraphQLString },
  recipients: { type: new GraphQLList(GraphQLString) },
  cc: { type: new GraphQLList(GraphQLString) },
  bcc: { type: new GraphQLList(GraphQLString) },
  reply_to: { type: new GraphQLList(GraphQLString) },
  headers: {
    type: SCALARS.GenericScalar,
    description: 'Additional headers: an object of values by header name.',
  },
  categories: { type: new GraphQLList(GraphQLString) },
};

export const previewType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_preview',
  fields: {
    ...emailFields,
    attachments: { type: new GraphQLList(attachmentType) },
    queries: {
      type: new GraphQLList(previewQueryType),
      description: 'The result of each query, even if a later step failed.',
    },
    warnings: {
      type: new GraphQLList(emailErrorType),
      description:
        'Such as content that email clients may handle badly, names that do not exist, and lists that are cut.',
    },
    error: {
      type: emailErrorType,
      description: 'Why nothing would be sent; null if the email would be sent.',
    },
  },
});

/** Read-only; sends nothing. */
export const previewEmail: ControlField<ComposeArgs> = {
  type: previewType,
  description:
    'The email that would be sent, composed by the same steps and with the same permissions and limits as a delivery.',
  args: COMPOSE_ARGS,
  resolve: async (_source, args, context) =>
    toPreview(await composeOnRequest(context, args), () => missingNamesOf(context, args)),
};

async function missingNamesOf(context: ControlContext, args: ComposeArgs): Promise<readonly EmailFailure[]> {
  // A custom context may have any names.
  if (args.context != null) return [];
  const read = await readEmailType(context, args);
  if (!read.ok) return [];
  return warningsOfType(context, read.type, {
    targets: args.target == null ? [] : [args.target],
    operations: args.target == null ? [] : [args.operation ?? 'insert'],
  });
}

/** A few microseconds each, on the event loop. */
const MAX_RESULT_VALUES = 200_000;

/** Throws AppError DOCUMENT_TOO_COMPLEX. */
function resultOf(json: string, { values }: ControlContext): unknown {
  if (!values.fits(json.length)) return null;
  limitValues(json, MAX_RESULT_VALUES);
  return parseJson(removeMarks(json));
}

/** Null for a result that is not shown either. */
const readSmall = (json: string): unknown =>
  exceedsValueCount(json, MAX_RESULT_VALUES) ? null : parseJson(json);

/** Its warnings and the results of queries are only computed if they are selected. */
export function toPreview(composed: Composed, missing: () => Promise<readonly EmailFailure[]>): object {
  const queries = composed.queries.map((query) =>
    query.ok
      ? {
          outvar: query.outvar,
          result: (_args: unknown, context: ControlContext) => resultOf(query.json, context),
        }
      : { outvar: query.outvar, error: query.problem.failure.message },
  );
  const { email } = composed;
  return {
    ...(email && toShownEmail(email)),
    warnings: async (_args: unknown, { deps }: ControlContext) => [
      ...(email ? warningsOf(email) : []),
      ...cutLists(composed.queries, deps.config.listDefaultLimit, readSmall),
      ...(await missing()),
    ],
    queries,
    ...(composed.kind === 'email' ? {} : { error: composed.failure }),
  };
}
