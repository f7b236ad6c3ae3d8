import { GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readEmailAttempts, readEmailEvents, type EmailDeliveryRow } from '../email/emailDeliveries.js';
import { LIST_ARGS } from '../../graphql/schema/dataSchema.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { listField, type ControlObject } from '../object/controlObject.js';
import { requireTenantAdmin } from '../permissions.js';
import { related, StoredRow } from '../object/storedRow.js';

const emailAttemptType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_attempt',
  fields: {
    attempt: { type: SCALARS.Int },
    started: { type: SCALARS.DateTime },
    finished: { type: SCALARS.DateTime },
    outcome: { type: GraphQLString },
    http_status: { type: SCALARS.Int },
    error: { type: GraphQLString },
  },
});

const emailEventType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_event',
  description: 'What the provider reports of a mail after it was sent.',
  fields: {
    event: {
      type: GraphQLString,
      description: 'delivered, bounce, dropped, deferred, open, click or spamreport.',
    },
    time: { type: SCALARS.DateTime },
    recipient: { type: GraphQLString },
    reason: { type: GraphQLString, description: "The receiving server's or the provider's own words." },
    status: { type: GraphQLString, description: 'As 5.1.1 (RFC 3463).' },
    type: { type: GraphQLString, description: 'Of a bounce: bounce (for good) or blocked (this time).' },
    url: { type: GraphQLString, description: 'Of a click.' },
  },
});

export const emailDeliveryType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_delivery',
  fields: {
    deliveryid: { type: new GraphQLNonNull(ID) },
    ruleid: { type: GraphQLString },
    email_type: { type: GraphQLString },
    operation: { type: GraphQLString },
    target: { type: GraphQLString },
    key: { type: SCALARS.GenericScalar, description: 'The key of the changed row.' },
    state: {
      type: GraphQLString,
      description: 'pending, sending, sent, retrying, paused, failed, skipped or unknown.',
    },
    attempts: { type: SCALARS.Int },
    recipients: { type: new GraphQLList(GraphQLString) },
    subject: { type: GraphQLString },
    provider_message_id: { type: GraphQLString },
    error_code: { type: GraphQLString },
    error: { type: GraphQLString },
    createtime: { type: SCALARS.DateTime },
    next_attempt: { type: SCALARS.DateTime },
    sent_time: { type: SCALARS.DateTime },
    email_attempt_collection: {
      type: new GraphQLList(emailAttemptType),
      args: LIST_ARGS,
      resolve: related<EmailDeliveryRow>(async ({ deliveryid }, { db, principal }) =>
        (await readEmailAttempts(db, principal.tenantid, String(deliveryid))).map(
          (attempt) => new StoredRow(attempt),
        ),
      ),
    },
    email_event_collection: {
      type: new GraphQLList(emailEventType),
      args: LIST_ARGS,
      resolve: related<EmailDeliveryRow>(async ({ deliveryid }, { db, principal }) =>
        (await readEmailEvents(db, principal.tenantid, String(deliveryid))).map(
          (event) => new StoredRow(event),
        ),
      ),
    },
  },
});

/** The ledger of emails: written by the service alone. */
export const emailDelivery: ControlObject = {
  queries: { email_delivery: listField(emailDeliveryType, 'email_delivery', requireTenantAdmin) },
  mutations: {},
};
