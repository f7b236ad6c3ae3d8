import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
} from 'graphql';
import type { RowDelivery } from '../../db/delivery/eventsOfRow.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { requireTenantAdmin } from '../permissions.js';
import { writersType } from '../utility/capture.js';
import { explainEvent, type ExplainedEvent, type Explanation } from './explainEvent.js';
import type { SeenValue } from './conditionValues.js';
import { REASONS, type ExplainedRule } from './explainRule.js';

type Fields<Source> = GraphQLFieldConfigMap<Source, ControlContext>;

const deliveryType = new GraphQLObjectType<RowDelivery, ControlContext>({
  name: 'explained_delivery',
  fields: (): Fields<RowDelivery> => ({
    deliveryid: { type: ID, resolve: (source) => source.deliveryid },
    email_type: { type: GraphQLString, resolve: (source) => source.email_type },
    state: { type: GraphQLString, resolve: (source) => source.state },
    attempts: { type: SCALARS.Int, resolve: (source) => source.attempts },
    error_code: { type: GraphQLString, resolve: (source) => source.error_code },
    error: { type: GraphQLString, resolve: (source) => source.error },
    next_attempt: { type: SCALARS.DateTime, resolve: (source) => source.next_attempt },
    sent_time: { type: SCALARS.DateTime, resolve: (source) => source.sent_time },
  }),
});

const reasonType = new GraphQLEnumType({
  name: 'rule_reason',
  values: Object.fromEntries(Object.entries(REASONS).map(([name, description]) => [name, { description }])),
});

const seenValueType = new GraphQLObjectType<SeenValue, ControlContext>({
  name: 'seen_value',
  fields: {
    name: { type: GraphQLString, description: 'new.status', resolve: (source) => source.name },
    value: { type: SCALARS.GenericScalar, resolve: (source) => source.value },
  },
});

const ruleType = new GraphQLObjectType<ExplainedRule, ControlContext>({
  name: 'explained_rule',
  fields: (): Fields<ExplainedRule> => ({
    ruleid: { type: ID, resolve: (source) => source.ruleid },
    name: {
      type: GraphQLString,
      description: 'Null for a rule that has been deleted.',
      resolve: (source) => source.name,
    },
    reason: { type: reasonType, resolve: (source) => source.reason },
    explanation: { type: GraphQLString, description: 'In words.', resolve: (source) => source.explanation },
    condition: { type: GraphQLString, resolve: (source) => source.condition },
    saw: {
      type: new GraphQLList(seenValueType),
      description:
        'The columns that the condition names, as they were; what relations lead to is read as it is now.',
      resolve: (source) => source.saw,
    },
    delivery: { type: deliveryType, resolve: (source) => source.delivery },
  }),
});

const progressType = new GraphQLEnumType({
  name: 'event_progress',
  values: {
    waiting: { description: 'The relay has not read it.' },
    queued: { description: 'No worker has compared it with the rules yet.' },
    evaluated: { description: 'It has been compared with the rules.' },
  },
});

const eventType = new GraphQLObjectType<ExplainedEvent, ControlContext>({
  name: 'explained_event',
  fields: (): Fields<ExplainedEvent> => ({
    time: { type: SCALARS.DateTime, resolve: (source) => source.time },
    operation: {
      type: GraphQLString,
      description: 'insert, update, delete, upload, or truncate, which no rule takes.',
      resolve: (source) => source.operation,
    },
    roleid: {
      type: SCALARS.Int,
      description: 'Who made it by a mutation; null where it was another writer.',
      resolve: (source) => source.roleid,
    },
    writer: {
      type: GraphQLString,
      description: 'The PostgreSQL login of another writer.',
      resolve: (source) => source.writer,
    },
    application: {
      type: GraphQLString,
      description: "The other writer's application_name.",
      resolve: (source) => source.application,
    },
    progress: { type: progressType, resolve: (source) => source.progress },
    rules: { type: new GraphQLList(ruleType), resolve: (source) => source.rules },
  }),
});

const explanationType = new GraphQLObjectType<Explanation, ControlContext>({
  name: 'event_explanation',
  fields: (): Fields<Explanation> => ({
    target: { type: GraphQLString, resolve: (source) => source.target },
    key: {
      type: SCALARS.GenericScalar,
      description: 'The key as events hold it.',
      resolve: (source) => source.key,
    },
    writers: {
      type: writersType,
      description: 'Whose changes become events; null for what is read-only.',
      resolve: (source) => source.writers,
    },
    row_exists: { type: GraphQLBoolean, description: 'Now.', resolve: (source) => source.rowExists },
    retention_days: { type: SCALARS.Int, resolve: (source) => source.retentionDays },
    notes: {
      type: new GraphQLList(GraphQLString),
      description: 'In words: why there may be no event, or not all of them.',
      resolve: (source) => source.notes,
    },
    events: {
      type: new GraphQLList(eventType),
      description: 'Newest first; at most 10.',
      resolve: (source) => source.events,
    },
    has_more: {
      type: GraphQLBoolean,
      description: 'There are older ones.',
      resolve: (source) => source.hasMore,
    },
    searched_since: {
      type: SCALARS.DateTime,
      description: 'Older changes were not searched; null when all were.',
      resolve: (source) => source.searchedSince,
    },
  }),
});

/** Read-only. */
export const explainEventField: GraphQLFieldConfig<
  unknown,
  ControlContext,
  { readonly target: string; readonly key: unknown }
> = {
  type: explanationType,
  description:
    'Why nothing happened: the recorded changes of a row, for each rule why it matched or not, and what became of each delivery.',
  args: {
    target: { type: new GraphQLNonNull(GraphQLString), description: 'The table.' },
    key: {
      type: new GraphQLNonNull(SCALARS.GenericScalar),
      description: 'The key of the row: an object by column, or the value of a single column.',
    },
  },
  resolve: (_source, { target, key }, { principal, deps, composing }) => {
    const schema = requireTenantAdmin(principal);
    const { tenantid } = principal;
    return composing.run(tenantid, () =>
      explainEvent(
        { database: deps.database, engine: deps.engine, retentionDays: deps.config.retentionDays },
        { tenantid, schema, target, key },
      ),
    );
  },
};
