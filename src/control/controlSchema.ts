import { GraphQLObjectType, GraphQLSchema } from 'graphql';
import { aggregatesType } from '../graphql/aggregates/aggregatesType.js';
import type { ControlContext, ControlField, ControlFields } from './controlContext.js';
import { audited } from './audit/auditedMutations.js';
import { emailDrafts } from './email/draftMutations.js';
import { emailWebhooks, setEmailWebhook } from './email/carrierWebhook.js';
import { setEmailApikey } from './email/emailApikey.js';
import { emailTransport, setEmailTransport } from './email/emailTransport.js';
import { emailWebhook, setEmailWebhookKey } from './email/emailWebhook.js';
import { redriveMutations } from './email/redrive.js';
import { sendTestEmail } from './email/sendTestEmail.js';
import { listField, mutationFields } from './derive/objectFields.js';
import { objectTypes } from './derive/objectTypes.js';
import { OBJECTS } from './objects/index.js';
import { endOtherSessionsField, endSessionField, endSessionsField } from './roles/sessions.js';
import { setPasswordSender } from './tenants/passwordSender.js';
import { setSignInBrand } from './tenants/signInBrand.js';
import { setTableCapture } from './utility/capture.js';
import { setManyCaptures } from './utility/captureTables.js';
import { setFileTable } from './utility/fileTable.js';
import { utilityQueries } from './utility/utility.js';

const TYPES = objectTypes(OBJECTS);

function typeNamed(name: string): GraphQLObjectType {
  const type = TYPES.get(name);
  if (!type) throw new Error(`no object is named ${name}`);
  return type;
}

/** Mutations of `Utility`. `set_email_apikey` is also at the root, for clients of the emailer. */
const UTILITY_MUTATIONS: ControlFields = audited({
  set_email_apikey: setEmailApikey,
  set_email_transport: setEmailTransport,
  set_email_webhook_key: setEmailWebhookKey,
  set_email_webhook: setEmailWebhook,
  set_file_table: setFileTable,
  set_capture: setTableCapture,
  set_captures: setManyCaptures,
  set_sign_in_brand: setSignInBrand,
  set_password_sender: setPasswordSender,
  end_session: endSessionField,
  end_other_sessions: endOtherSessionsField,
  end_sessions: endSessionsField,
  send_test_email: sendTestEmail,
  ...emailDrafts,
  ...redriveMutations(typeNamed('email_delivery')),
});

/** Aggregates over the rows visible in lists. */
const AGGREGATES = aggregatesType<ControlContext>((_source, _args, context, info) => context.aggregate(info));

/** The GraphQL schema of `/roles_pbac`. */
export function buildControlSchema(): GraphQLSchema {
  const listed = OBJECTS.filter((object) => object.listed !== false);
  const lists = listed.map((object) => [object.table, listField(object, typeNamed(object.table))] as const);
  const mutations = listed.map((object) => mutationFields(object, typeNamed(object.table)));
  return new GraphQLSchema({
    query: new GraphQLObjectType<unknown, ControlContext>({
      name: 'Query',
      fields: {
        ...Object.fromEntries(lists),
        Aggregates: { type: AGGREGATES, resolve: () => ({}) },
        Utility: namespace(
          'Utility',
          serialize({
            ...utilityQueries,
            email_transport: emailTransport,
            email_webhook: emailWebhook,
            email_webhooks: emailWebhooks,
          }),
        ),
      },
    }),
    mutation: new GraphQLObjectType<unknown, ControlContext>({
      name: 'Mutation',
      fields: {
        ...stoppingAtFirstError(
          Object.assign({}, ...mutations, audited({ set_email_apikey: setEmailApikey })) as ControlFields,
        ),
        Utility: namespace('UtilityMutation', stoppingAtFirstError(UTILITY_MUTATIONS)),
      },
    }),
  });
}

function namespace(name: string, fields: ControlFields): ControlField {
  return { type: new GraphQLObjectType<unknown, ControlContext>({ name, fields }), resolve: () => ({}) };
}

/** Runs the fields one after another: a query may select many, and connections are few. */
function serialize(fields: ControlFields): ControlFields {
  return eachRunBy(fields, (_context, resolve) => Promise.resolve(resolve()));
}

/** The same for mutations. An error rolls back all mutations of a request, so later ones are not attempted. */
function stoppingAtFirstError(fields: ControlFields): ControlFields {
  return eachRunBy(fields, async (context, resolve) => {
    if (context.failed) return null;
    try {
      return await resolve();
    } catch (error) {
      context.failed = true;
      throw error;
    }
  });
}

function eachRunBy(
  fields: ControlFields,
  run: (context: ControlContext, resolve: () => unknown) => Promise<unknown>,
): ControlFields {
  const wrapped = (field: ControlFields[string]): ControlFields[string] => ({
    ...field,
    resolve: (source, args: unknown, context, info) =>
      context.serialize(() => run(context, () => field.resolve?.(source, args, context, info))),
  });
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, wrapped(field)]));
}
