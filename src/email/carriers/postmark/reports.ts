import { idOf, nameIn, objectOf, type GivenEvent, type Json, type Names } from '../reports/events.js';
import {
  MAX_REPORT_BYTES,
  URL_PASSWORD,
  verifyPassword,
  type CarrierReports,
  type EventReader,
} from '../reports/webhook.js';

const EVENTS: Names = {
  Delivery: 'delivered',
  Bounce: 'bounce',
  SpamComplaint: 'spamreport',
  Open: 'open',
  Click: 'click',
  SubscriptionChange: 'unsubscribe',
};
/** Bounce types that mean the mailbox does not exist; other types concern one email. */
const GONE: readonly unknown[] = ['HardBounce', 'BadEmailAddress'];
/** Bounce types that are other events. */
const OTHERS: Names = {
  Transient: 'deferred',
  DnsError: 'deferred',
  SpamComplaint: 'spamreport',
  Unsubscribe: 'unsubscribe',
};
/** Bounce types that say nothing of whether the email arrived. */
const REPLIES: readonly unknown[] = [
  'AutoResponder',
  'AddressChange',
  'Subscribe',
  'OpenRelayTest',
  'InboundError',
];

const read: EventReader = (report) => {
  const { RecordType: record, Type: type, ID: id, MessageID: message, Metadata: metadata } = report;
  const named = nameIn(EVENTS, record);
  if (named === undefined || REPLIES.includes(type)) return [undefined];
  if (named === 'unsubscribe') return [readSubscription(report)];
  const event = nameIn(OTHERS, type) ?? named;
  const time = report['DeliveredAt'] ?? report['BouncedAt'] ?? report['ReceivedAt'];
  const recipient = report['Email'] ?? report['Recipient'];
  return [
    {
      deliveryid: objectOf(metadata)['deliveryid'],
      tenantid: objectOf(metadata)['tenantid'],
      id: idOf('postmark', message, record, id ?? recipient, time),
      event,
      time,
      recipient,
      reason: report['Details'] ?? report['Description'],
      type: GONE.includes(type) ? 'bounce' : 'blocked',
      url: report['OriginalLink'],
    },
  ];
};

/** Postmark also reports suppressions by bounces and complaints, which have events of their own, and reactivations. */
function readSubscription(report: Json): GivenEvent | undefined {
  const { MessageID: message, Metadata: metadata, ChangedAt: time, Recipient: recipient } = report;
  if (report['SuppressSending'] !== true || report['SuppressionReason'] !== 'ManualSuppression')
    return undefined;
  return {
    deliveryid: objectOf(metadata)['deliveryid'],
    tenantid: objectOf(metadata)['tenantid'],
    id: idOf('postmark', message, 'SubscriptionChange', recipient, time),
    event: 'unsubscribe',
    time,
    recipient,
    suppress: report['Origin'] === 'Recipient' ? 'unsubscribe' : null,
  };
}

export const reports: CarrierReports = {
  steps:
    'Add a webhook of the message stream with the URL below, and put the name rowpost and a password of your choice into it: https://rowpost:<password>@…',
  secretName: 'That password, of 16 characters or more',
  secret: URL_PASSWORD,
  open: () => ({ maxBodyBytes: MAX_REPORT_BYTES, verify: verifyPassword, read }),
};
