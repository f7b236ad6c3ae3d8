import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import type { RowDelivery } from '../../db/outbox/eventsOfRow.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { requireTenantAdmin } from '../permissions.js';
import { writersType } from '../utility/capture.js';
import { explainEvent, type ExplainedEvent, type Explanation } from './explainEvent.js';
import type { SeenValue } from './conditionValues.js';
import { REASONS, type ExplainedRule } from './explainRule.js';

const deliveryType = new GraphQLObjectType<RowDelivery, ControlContext>({
  name: 'explained_delivery',
  fields: {
    deliveryid: { type: ID },
    email_type: { type: GraphQLString },
    state: { type: GraphQLString },
    status: { type: GraphQLString, description: 'The last thing known, as in email_delivery.' },
    attempts: { type: SCALARS.Int },
    error_code: { type: GraphQLString },
    error: { type: GraphQLString },
    next_attempt: { type: SCALARS.DateTime },
    sent_time: { type: SCALARS.DateTime },
  },
});

const reasonType = new GraphQLEnumType({
  name: 'rule_reason',
  values: Object.fromEntries(Object.entries(REASONS).map(([name, description]) => [name, { description }])),
});

const seenValueType = new GraphQLObjectType<SeenValue, ControlContext>({
  name: 'seen_value',
  fields: {
    name: { type: GraphQLString, description: 'Name of the value, such as new.status.' },
    value: { type: SCALARS.GenericScalar },
  },
});

const ruleType = new GraphQLObjectType<ExplainedRule, ControlContext>({
  name: 'explained_rule',
  fields: {
    ruleid: { type: ID },
    name: { type: GraphQLString, description: 'Null for a rule that has been deleted.' },
    reason: { type: reasonType },
    explanation: { type: GraphQLString, description: 'The reason in words.' },
    condition: { type: GraphQLString },
    saw: {
      type: new GraphQLList(seenValueType),
      description:
        'Values of the columns that the condition names, as of the change; values reached through relations are the current ones.',
    },
    delivery: { type: deliveryType },
  },
});

const progressType = new GraphQLEnumType({
  name: 'event_progress',
  values: {
    waiting: { description: 'The relay has not read the event yet.' },
    queued: { description: 'The event is in the queue; no worker has evaluated the rules for it yet.' },
    evaluated: { description: 'The rules have been evaluated for the event.' },
  },
});

const eventType = new GraphQLObjectType<ExplainedEvent, ControlContext>({
  name: 'explained_event',
  fields: {
    time: { type: SCALARS.DateTime },
    operation: {
      type: GraphQLString,
      description: 'insert, update, delete, upload, or truncate, which fires no rule.',
    },
    roleid: {
      type: SCALARS.Int,
      description: 'The role whose mutation made the change; null for a change made outside the API.',
    },
    writer: {
      type: GraphQLString,
      description: 'The PostgreSQL login that made the change, if it was made outside the API.',
    },
    application: {
      type: GraphQLString,
      description:
        'The application_name of the session that made the change, if it was made outside the API.',
    },
    progress: { type: progressType },
    rules: { type: new GraphQLList(ruleType) },
  },
});

const explanationType = new GraphQLObjectType<Explanation, ControlContext>({
  name: 'event_explanation',
  fields: {
    target: { type: GraphQLString },
    key: { type: SCALARS.GenericScalar, description: 'The key in the form that events store.' },
    writers: {
      type: writersType,
      description: 'Whose changes become events; null for views and tables without a primary key.',
    },
    row_exists: {
      type: GraphQLBoolean,
      description: 'Whether the row exists now.',
    },
    retention_days: { type: SCALARS.Int },
    notes: { type: new GraphQLList(GraphQLString), description: 'Why events may be missing, in words.' },
    events: {
      type: new GraphQLList(eventType),
      description: 'The recorded changes, newest first; at most 10.',
    },
    has_more: {
      type: GraphQLBoolean,
      description: 'Whether there are older events.',
    },
    searched_since: {
      type: SCALARS.DateTime,
      description: 'Changes before this time were not searched; null if all were.',
    },
  },
});

/** Read-only. */
export const explainEventField: ControlField<{ readonly target: string; readonly key: unknown }> = {
  type: explanationType,
  description:
    'Explains why an email was or was not sent: the recorded changes of a row, why each rule matched or not, and what became of each delivery.',
  args: {
    target: { type: new GraphQLNonNull(GraphQLString), description: 'Name of the table.' },
    key: {
      type: new GraphQLNonNull(SCALARS.GenericScalar),
      description: 'Key of the row: an object of values by column, or the bare value of a single-column key.',
    },
  },
  resolve: (_source, { target, key }, { principal, deps, composing, connections }) => {
    const schema = requireTenantAdmin(principal);
    const { tenantid } = principal;
    return composing.run(tenantid, () =>
      explainEvent(
        {
          database: deps.database,
          engine: deps.engine,
          retentionDays: deps.config.retentionDays,
          inSteps: (steps) => deps.engine.planning.run(planOwnerOf(principal), steps),
          search: (work) => connections.run(tenantid, work),
        },
        { tenantid, schema, target, key },
      ),
    );
  },
};
