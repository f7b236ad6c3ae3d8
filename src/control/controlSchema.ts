import { GraphQLObjectType, GraphQLSchema, type GraphQLFieldConfig } from 'graphql';
import { aggregatesType } from '../graphql/aggregates/aggregatesType.js';
import { capability } from './objects/capability.js';
import type { ControlContext } from './controlContext.js';
import type { ControlFields, ControlObject } from './object/controlObject.js';
import { setEmailApikey } from './email/emailApikey.js';
import { emailDelivery } from './objects/emailDelivery.js';
import { emailSuppression } from './objects/emailSuppression.js';
import { emailWebhook, setEmailWebhookKey } from './email/emailWebhook.js';
import { emailRule } from './objects/emailRule.js';
import { emailTypes } from './objects/emailTypes.js';
import { setFileTable } from './utility/fileTable.js';
import { oidcConfig } from './objects/oidcConfig.js';
import { oidcProviders } from './objects/oidcProviders.js';
import { policyRule } from './objects/policyRule.js';
import { redriveMutations } from './email/redrive.js';
import { role } from './objects/role.js';
import { roleClass } from './objects/roleClass.js';
import { roleOidc } from './objects/roleOidc.js';
import { sendTestEmail } from './email/sendTestEmail.js';
import { tenant } from './objects/tenant.js';
import { utilityQueries } from './utility/utility.js';

const OBJECTS: readonly ControlObject[] = [
  tenant,
  role,
  roleClass,
  policyRule,
  capability,
  oidcProviders,
  oidcConfig,
  roleOidc,
  emailTypes,
  emailRule,
  emailDelivery,
  emailSuppression,
];

/** Mutations of `Utility`. Clients of the emailer find `set_email_apikey` at the root as well. */
const UTILITY_MUTATIONS: ControlFields = {
  set_email_apikey: setEmailApikey,
  set_email_webhook_key: setEmailWebhookKey,
  set_file_table: setFileTable,
  send_test_email: sendTestEmail,
  ...redriveMutations,
};

/** Over the rows that lists show. */
const AGGREGATES = aggregatesType<ControlContext>((_source, _args, context, info) => context.aggregate(info));

/** The GraphQL schema of `/roles_pbac`. */
export function buildControlSchema(): GraphQLSchema {
  const queries = Object.assign({}, ...OBJECTS.map((object) => object.queries)) as ControlFields;
  const mutations = Object.assign({}, ...OBJECTS.map((object) => object.mutations)) as ControlFields;
  return new GraphQLSchema({
    query: new GraphQLObjectType<unknown, ControlContext>({
      name: 'Query',
      fields: {
        ...queries,
        Aggregates: { type: AGGREGATES, resolve: () => ({}) },
        Utility: namespace('Utility', inTurn({ ...utilityQueries, email_webhook: emailWebhook })),
      },
    }),
    mutation: new GraphQLObjectType<unknown, ControlContext>({
      name: 'Mutation',
      fields: {
        ...stoppingAtFirstError({ ...mutations, set_email_apikey: setEmailApikey }),
        Utility: namespace('UtilityMutation', stoppingAtFirstError(UTILITY_MUTATIONS)),
      },
    }),
  });
}

function namespace(name: string, fields: ControlFields): GraphQLFieldConfig<unknown, ControlContext> {
  return { type: new GraphQLObjectType<unknown, ControlContext>({ name, fields }), resolve: () => ({}) };
}

/** One after another: a query may ask for many, and each takes connections, which are few. */
function inTurn(fields: ControlFields): ControlFields {
  const waiting = (
    field: GraphQLFieldConfig<unknown, ControlContext>,
  ): GraphQLFieldConfig<unknown, ControlContext> => ({
    ...field,
    resolve: (source, args: unknown, context, info) =>
      context.inTurn(() => Promise.resolve(field.resolve?.(source, args, context, info))),
  });
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, waiting(field)]));
}

/** One error rolls back all mutations of a request, so those after it are not tried. */
function stoppingAtFirstError(fields: ControlFields): ControlFields {
  const guard = (
    field: GraphQLFieldConfig<unknown, ControlContext>,
  ): GraphQLFieldConfig<unknown, ControlContext> => ({
    ...field,
    resolve: (source, args: unknown, context, info) =>
      context.inTurn(async () => {
        if (context.failed) return null;
        try {
          return await field.resolve?.(source, args, context, info);
        } catch (error) {
          context.failed = true;
          throw error;
        }
      }),
  });
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, guard(field)]));
}
