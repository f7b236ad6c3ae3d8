import { ownValue } from '../../../foundation/ownValue.js';
import {
  addressOf,
  listOf,
  MAX_RECIPIENTS,
  MAX_TOKEN_CHARACTERS,
  nameIn,
  objectOf,
  textOf,
  type Names,
} from '../reports/events.js';
import { MAX_REPORT_BYTES, type EventReader, type CarrierReports } from '../reports/webhook.js';
import { SnsCheck, TOPIC } from './sns.js';

const EVENTS: Names = {
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
const PARTS: Names = {
  Delivery: 'delivery',
  Bounce: 'bounce',
  Complaint: 'complaint',
  DeliveryDelay: 'deliveryDelay',
  Subscription: 'subscription',
  Open: 'open',
  Click: 'click',
  Reject: 'reject',
};

const read: EventReader = (report, { reportId }) => {
  const given = report['eventType'];
  const named = nameIn(EVENTS, given);
  const partName = nameIn(PARTS, given);
  if (named === undefined || partName === undefined) return [undefined];
  const email = objectOf(report['mail']);
  const part = objectOf(ownValue(report, partName));
  const tags = objectOf(email['tags']);
  const [deliveryid] = listOf(tags['deliveryid']);
  const [tenantid] = listOf(tags['tenantid']);
  const isSuppressed = /suppress/i.test(textOf(part['bounceSubType'], MAX_TOKEN_CHARACTERS) ?? '');
  const event = named === 'bounce' && isSuppressed ? 'dropped' : named;
  const isGone = named === 'bounce' && part['bounceType'] === 'Permanent';
  const recipients = [
    ...listOf(part['bouncedRecipients']),
    ...listOf(part['complainedRecipients']),
    ...listOf(part['delayedRecipients']),
    ...listOf(part['recipients']),
  ].slice(0, MAX_RECIPIENTS);
  // For a complaint, SES lists all recipients who may have made it.
  const isCertain = named !== 'spamreport' || recipients.length === 1;
  // From SES's own contact lists, whose topics are not email types.
  const hasLeft = objectOf(part['newTopicPreferences'])['unsubscribeAll'] === true;
  if (named === 'unsubscribe' && !hasLeft) return [undefined];
  const source = named === 'spamreport' || named === 'unsubscribe' ? named : isGone ? 'bounce' : undefined;
  return (recipients.length > 0 ? recipients : listOf(email['destination']).slice(0, 1)).map(
    (recipient, index) => ({
      deliveryid,
      tenantid,
      id: `ses:${reportId}:${index}`,
      event,
      time: part['timestamp'] ?? email['timestamp'],
      recipient: addressOf(objectOf(recipient)['emailAddress'] ?? recipient),
      reason: objectOf(recipient)['diagnosticCode'] ?? part['reason'] ?? part['smtpResponse'],
      status: objectOf(recipient)['status'],
      ...(event === 'bounce' ? { type: isGone ? 'bounce' : 'blocked' } : {}),
      url: part['link'],
      suppress: isCertain ? source : undefined,
    }),
  );
};

/** SES reports by SNS, which sends 256 KiB at most. */
export const reports: CarrierReports = {
  steps: 'Publish events of the configuration set to an SNS topic, and subscribe the URL below to it.',
  secretName: 'ARN of the topic',
  secret: {
    doc: 'the ARN of the SNS topic',
    pattern: TOPIC,
    rule: 'must be the ARN of the SNS topic that SES publishes to: arn:aws:sns:…',
  },
  open({ readSns }) {
    const sns = new SnsCheck(readSns);
    return { maxBodyBytes: MAX_REPORT_BYTES, verify: (report, topic) => sns.open(report, topic), read };
  },
};
