import { SCALARS } from '../../graphql/schema/scalars.js';
import { controlObject } from '../derive/declaration.js';
import { seenDeliveries } from '../derive/visibility.js';
import { requireDeliveryViewer } from '../permissions.js';

const PAIRS = { tenantid: 'tenantid', deliveryid: 'deliveryid', createtime: 'createtime' };

/** The email ledger, written only by the service. */
export const emailDelivery = controlObject({
  table: 'email_delivery',
  label: 'delivery',
  key: ['deliveryid'],
  columns: {
    deliveryid: { type: 'int8', required: true },
    ruleid: { type: 'int8' },
    email_type: { type: 'text' },
    operation: { type: 'text' },
    target: { type: 'text' },
    key: { type: 'json', description: 'The key of the changed row; `{}` if it has more than 8 KiB.' },
    state: {
      type: 'text',
      description: 'pending, sending, sent, retrying, paused, failed, skipped or unknown.',
    },
    status: {
      type: 'text',
      description:
        'The last thing known: scheduled, sending, sent, delivered, opened, clicked, bounced, complained, unsubscribed, held_back, failed or unknown.',
    },
    attempts: { type: 'int4' },
    recipients: { type: 'text[]', searchedAs: 'recipient_texts' },
    intended_recipients: {
      type: 'text[]',
      description:
        'Everybody it was meant for, with copies, as written: also suppressed addresses and texts that are no address.',
      searchedAs: 'recipient_texts',
    },
    subject: { type: 'text' },
    provider_message_id: { type: 'text' },
    error_code: { type: 'text' },
    error: { type: 'text' },
    createtime: { type: 'timestamptz' },
    next_attempt: { type: 'timestamptz' },
    sent_time: { type: 'timestamptz' },
  },
  relations: {
    change: {
      kind: 'to-one',
      target: 'outbox',
      description:
        'The change that triggered the delivery, kept for RETENTION_DAYS. Only in lists, and only for admins.',
      pairs: { tenantid: 'tenantid', eventid: 'eventid', createtime: 'time' },
    },
    email_attempt_collection: {
      kind: 'to-many',
      target: 'email_attempt',
      pairs: PAIRS,
      wholeAfterMutation: true,
    },
    email_event_collection: {
      kind: 'to-many',
      target: 'email_event',
      pairs: PAIRS,
      wholeAfterMutation: true,
    },
  },
  visible: seenDeliveries,
  mayList: requireDeliveryViewer,
});

/** The history of a delivery. */
export const emailAttempt = controlObject({
  table: 'email_attempt',
  label: 'attempt',
  key: ['attempt'],
  listed: false,
  columns: {
    attempt: { type: 'int4' },
    started: { type: 'timestamptz' },
    finished: { type: 'timestamptz' },
    outcome: { type: 'text' },
    http_status: {
      type: 'int4',
      description: "HTTP status of the carrier's response, or the reply code of an SMTP server.",
    },
    error: { type: 'text' },
    carrier: { type: 'text', description: 'The carrier that was called; null if none was.' },
  },
  visible: seenDeliveries,
});

export const emailEvent = controlObject({
  table: 'email_event',
  label: 'event',
  description:
    'What the carrier reports about an email, when it takes it or later; and texts among the recipients that are no address (dropped).',
  key: ['time', 'provider_event_id'],
  columns: {
    deliveryid: { type: 'int8' },
    event: {
      type: 'text',
      description:
        'delivered, bounce, dropped, deferred, open, click, spamreport, unsubscribe, group_unsubscribe or group_resubscribe.',
    },
    time: { type: 'timestamptz', output: SCALARS.DateTime },
    recipient: { type: 'text' },
    reason: { type: 'text', description: 'Reason as given by the receiving server, the carrier or Rowpost.' },
    status: {
      type: 'text',
      description:
        'Enhanced status code (RFC 3463), such as 5.1.1, if the carrier reports one; from Mailgun otherwise its own code, such as 605.',
    },
    type: {
      type: 'text',
      description: 'Bounces only: bounce (there is no such mailbox) or blocked (this email was rejected).',
    },
    url: { type: 'text', description: 'Clicks only: the URL of the link.' },
    createtime: { type: 'timestamptz', description: 'Of the delivery.' },
    provider_event_id: { type: 'text', description: "The carrier's id of the report, or one of Rowpost's." },
  },
  visible: seenDeliveries,
  mayList: requireDeliveryViewer,
});

export const emailRecipient = controlObject({
  table: 'email_recipient',
  label: 'recipient',
  description: 'Whom deliveries were meant for, which finds those for an address however many there are.',
  key: ['address', 'deliveryid'],
  columns: {
    address: { type: 'text', description: 'In lower case, without the name.' },
    deliveryid: { type: 'int8' },
    createtime: { type: 'timestamptz', description: 'Of the delivery.' },
  },
  visible: seenDeliveries,
  mayList: requireDeliveryViewer,
});
