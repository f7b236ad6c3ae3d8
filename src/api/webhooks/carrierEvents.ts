import type { WebhookKind } from '../../db/delivery/carrierWebhooks.js';
import { listOf, objectOf, type GivenEvent, type Json } from './eventFields.js';

/** Reads a verified report. @param reportId used if its events have no ids of their own */
export type EventReader = (report: Json, reportId: string) => readonly (GivenEvent | undefined)[];

type Kinds = Readonly<Record<string, string>>;
const nameIn = (kinds: Kinds, value: unknown): string | undefined =>
  typeof value === 'string' && Object.hasOwn(kinds, value) ? kinds[value] : undefined;

const POSTMARK: Kinds = {
  Delivery: 'delivered',
  Bounce: 'bounce',
  SpamComplaint: 'spamreport',
  Open: 'open',
  Click: 'click',
  SubscriptionChange: 'unsubscribe',
};
/** Bounce types that mean the mailbox does not exist; other types concern one mail. */
const POSTMARK_GONE: readonly unknown[] = ['HardBounce', 'BadEmailAddress'];

const readPostmark: EventReader = (report) => {
  const { RecordType: record, Type: type, ID: id, MessageID: message, Metadata: metadata } = report;
  const named = nameIn(POSTMARK, record);
  if (named === undefined) return [undefined];
  if (named === 'unsubscribe') return [readPostmarkSubscription(report)];
  const isComplaint = named === 'spamreport' || type === 'SpamComplaint';
  const event = isComplaint ? 'spamreport' : type === 'Transient' ? 'deferred' : named;
  const time = report['DeliveredAt'] ?? report['BouncedAt'] ?? report['ReceivedAt'];
  const recipient = report['Email'] ?? report['Recipient'];
  const isGone = POSTMARK_GONE.includes(type);
  return [
    {
      deliveryid: objectOf(metadata)['deliveryid'],
      tenantid: objectOf(metadata)['tenantid'],
      id: ['postmark', message, record, id ?? recipient, time].map((part) => text(part)).join(':'),
      event,
      time,
      recipient,
      reason: report['Details'] ?? report['Description'],
      ...(event === 'bounce' ? { type: isGone ? 'bounce' : 'blocked' } : {}),
      url: report['OriginalLink'],
      suppress: isComplaint ? 'spamreport' : event === 'bounce' && isGone ? 'bounce' : undefined,
    },
  ];
};

/** Postmark also reports suppressions by bounces and complaints, which have events of their own, and reactivations. */
function readPostmarkSubscription(report: Json): GivenEvent | undefined {
  const { MessageID: message, Metadata: metadata, ChangedAt: time, Recipient: recipient } = report;
  if (report['SuppressSending'] !== true || report['SuppressionReason'] !== 'ManualSuppression')
    return undefined;
  return {
    deliveryid: objectOf(metadata)['deliveryid'],
    tenantid: objectOf(metadata)['tenantid'],
    id: ['postmark', message, 'SubscriptionChange', recipient, time].map((part) => text(part)).join(':'),
    event: 'unsubscribe',
    time,
    recipient,
    suppress: report['Origin'] === 'Recipient' ? 'unsubscribe' : undefined,
  };
}

const RESEND: Kinds = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounce',
  'email.complained': 'spamreport',
  'email.delivery_delayed': 'deferred',
  'email.opened': 'open',
  'email.clicked': 'click',
  'email.failed': 'dropped',
  'email.suppressed': 'dropped',
};

const readResend: EventReader = (report, reportId) => {
  const event = nameIn(RESEND, report['type']);
  const data = objectOf(report['data']);
  if (event === undefined) return [undefined];
  const tags = tagsOf(data['tags']);
  const [bounce, click, failed] = ['bounce', 'click', 'failed'].map((name) => objectOf(data[name]));
  const isGone = bounce?.['type'] === 'Permanent';
  const recipients = listOf(data['to']);
  // With several recipients, it is not certain which one complained.
  const mayBeSuppressed = recipients.length === 1;
  const source = event === 'spamreport' ? 'spamreport' : event === 'bounce' && isGone ? 'bounce' : undefined;
  return recipients.map((recipient, index) => ({
    deliveryid: tags['deliveryid'],
    tenantid: tags['tenantid'],
    id: `resend:${reportId}:${index}`,
    event,
    time: report['created_at'],
    recipient: addressOf(recipient),
    reason: bounce?.['message'] ?? failed?.['reason'],
    ...(event === 'bounce' ? { type: isGone ? 'bounce' : 'blocked' } : {}),
    url: click?.['link'],
    suppress: mayBeSuppressed ? source : undefined,
  }));
};

const MAILGUN: Kinds = {
  delivered: 'delivered',
  failed: 'bounce',
  complained: 'spamreport',
  opened: 'open',
  clicked: 'click',
  unsubscribed: 'unsubscribe',
};
/** Mail that Mailgun did not attempt, because of an earlier event. */
const MAILGUN_SUPPRESSED: Readonly<Record<string, 'bounce' | 'spamreport' | undefined>> = {
  'suppress-bounce': 'bounce',
  'suppress-complaint': 'spamreport',
  'suppress-unsubscribe': undefined,
};

const readMailgun: EventReader = (report) => {
  const data = objectOf(report['event-data']);
  const { id, timestamp, recipient, url } = data;
  const named = nameIn(MAILGUN, data['event']);
  if (named === undefined || typeof id !== 'string') return [undefined];
  const reason = text(data['reason']);
  const status = objectOf(data['delivery-status']);
  const variables = objectOf(data['user-variables']);
  const isDropped = named === 'bounce' && Object.hasOwn(MAILGUN_SUPPRESSED, reason);
  const isTemporary = named === 'bounce' && data['severity'] !== 'permanent';
  const event = isDropped ? 'dropped' : isTemporary ? 'deferred' : named;
  const isGone = event === 'bounce' && reason === 'bounce';
  return [
    {
      deliveryid: variables['deliveryid'],
      tenantid: variables['tenantid'],
      id: `mailgun:${id}`,
      event,
      time: Number(timestamp) * 1000,
      recipient,
      reason: [status['message'], status['description'], data['reason']].find(isFilled),
      status: status['enhanced-code'] ?? status['code'],
      ...(event === 'bounce' ? { type: isGone ? 'bounce' : 'blocked' } : {}),
      url,
      suppress: isDropped
        ? MAILGUN_SUPPRESSED[reason]
        : event === 'spamreport' || event === 'unsubscribe'
          ? event
          : isGone
            ? 'bounce'
            : undefined,
    },
  ];
};

const SES: Kinds = {
  Delivery: 'delivered',
  Bounce: 'bounce',
  Complaint: 'spamreport',
  DeliveryDelay: 'deferred',
  Subscription: 'unsubscribe',
  Open: 'open',
  Click: 'click',
  Reject: 'dropped',
};
/** The member of a report with the details of each kind of event. */
const SES_PARTS: Kinds = {
  Delivery: 'delivery',
  Bounce: 'bounce',
  Complaint: 'complaint',
  DeliveryDelay: 'deliveryDelay',
  Subscription: 'subscription',
  Open: 'open',
  Click: 'click',
  Reject: 'reject',
};

const readSes: EventReader = (report, reportId) => {
  const given = report['eventType'];
  const named = nameIn(SES, given);
  const partName = nameIn(SES_PARTS, given);
  if (named === undefined || partName === undefined) return [undefined];
  const mail = objectOf(report['mail']);
  const part = objectOf(report[partName]);
  const tags = objectOf(mail['tags']);
  const [deliveryid] = listOf(tags['deliveryid']);
  const [tenantid] = listOf(tags['tenantid']);
  const isSuppressed = /suppress/i.test(text(part['bounceSubType']));
  const event = named === 'bounce' && isSuppressed ? 'dropped' : named;
  const isGone = named === 'bounce' && part['bounceType'] === 'Permanent';
  const recipients = [
    ...listOf(part['bouncedRecipients']),
    ...listOf(part['complainedRecipients']),
    ...listOf(part['delayedRecipients']),
    ...listOf(part['recipients']),
  ];
  // For a complaint, SES lists all recipients who may have made it.
  const isCertain = named !== 'spamreport' || recipients.length === 1;
  // From SES's own contact lists, whose topics are not email types.
  const hasLeft = objectOf(part['newTopicPreferences'])['unsubscribeAll'] === true;
  if (named === 'unsubscribe' && !hasLeft) return [undefined];
  const source = named === 'spamreport' || named === 'unsubscribe' ? named : isGone ? 'bounce' : undefined;
  return (recipients.length > 0 ? recipients : listOf(mail['destination']).slice(0, 1)).map(
    (recipient, index) => ({
      deliveryid,
      tenantid,
      id: `ses:${reportId}:${index}`,
      event,
      time: part['timestamp'] ?? mail['timestamp'],
      recipient: addressOf(objectOf(recipient)['emailAddress'] ?? recipient),
      reason: objectOf(recipient)['diagnosticCode'] ?? part['reason'] ?? part['smtpResponse'],
      status: objectOf(recipient)['status'],
      ...(event === 'bounce' ? { type: isGone ? 'bounce' : 'blocked' } : {}),
      url: part['link'],
      suppress: isCertain ? source : undefined,
    }),
  );
};

export const EVENT_READERS: Readonly<Record<WebhookKind, EventReader>> = {
  postmark: readPostmark,
  resend: readResend,
  mailgun: readMailgun,
  ses: readSes,
};

/** Tags are an object by name, or the list that was sent. */
function tagsOf(tags: unknown): Json {
  if (!Array.isArray(tags)) return objectOf(tags);
  return Object.fromEntries(tags.map(objectOf).map(({ name, value }) => [text(name), value]));
}

/** `Ada <ada@example.com>` or the address alone. */
function addressOf(recipient: unknown): unknown {
  return typeof recipient === 'string' ? (/<([^<>]*)>\s*$/.exec(recipient)?.[1] ?? recipient) : undefined;
}

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
