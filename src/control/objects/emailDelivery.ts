import { controlObject } from '../object/declaration.js';
import { seenDeliveries } from '../object/visibility.js';
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
    key: { type: 'json', description: 'The key of the changed row.' },
    state: {
      type: 'text',
      description: 'pending, sending, sent, retrying, paused, failed, skipped or unknown.',
    },
    attempts: { type: 'int4' },
    recipients: { type: 'text[]', searchedAs: 'recipient_texts' },
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
      description: 'The change that it is about, while RETENTION_DAYS last. In lists only, and for admins.',
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
    http_status: { type: 'int4', description: 'The reply code where the carrier speaks SMTP.' },
    error: { type: 'text' },
    carrier: { type: 'text', description: 'Null where nothing was sent.' },
  },
  visible: seenDeliveries,
});

export const emailEvent = controlObject({
  table: 'email_event',
  label: 'event',
  description: 'What the provider reports of a mail after it was sent.',
  key: ['time', 'provider_event_id'],
  listed: false,
  columns: {
    event: {
      type: 'text',
      description: 'delivered, bounce, dropped, deferred, open, click or spamreport.',
    },
    time: { type: 'timestamptz' },
    recipient: { type: 'text' },
    reason: { type: 'text', description: "The receiving server's or the provider's own words." },
    status: { type: 'text', description: 'As 5.1.1 (RFC 3463).' },
    type: { type: 'text', description: 'Of a bounce: bounce (for good) or blocked (this time).' },
    url: { type: 'text', description: 'Of a click.' },
    provider_event_id: { type: 'text', output: null },
  },
  visible: seenDeliveries,
});
