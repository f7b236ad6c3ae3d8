import { ownValue } from '../../../foundation/ownValue.js';
import { addressOf, listOf, MAX_RECIPIENTS, nameIn, objectOf, type Names } from '../reports/events.js';
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

/** Feedback about an email that is no complaint of its recipient (RFC 5965, RFC 6591). */
const NO_COMPLAINTS: readonly (string | undefined)[] = ['not-spam', 'auth-failure'];

const read: EventReader = (report, { reportId }) => {
  const given = report['eventType'];
  const named = nameIn(EVENTS, given);
  if (named === undefined) return [undefined];
  const email = objectOf(report['mail']);
  // The details of a DeliveryDelay are in `deliveryDelay`.
  const part = objectOf(
    ownValue(
      report,
      String(given).replace(/^[A-Z]/, (letter) => letter.toLowerCase()),
    ),
  );
  if (NO_COMPLAINTS.includes(tokenOf(part['complaintFeedbackType']))) return [undefined];
  // From SES's own contact lists, whose topics are not email types.
  const hasLeft = objectOf(part['newTopicPreferences'])['unsubscribeAll'] === true;
  if (named === 'unsubscribe' && !hasLeft) return [undefined];
  const tags = objectOf(email['tags']);
  const [deliveryid] = listOf(tags['deliveryid']);
  const [tenantid] = listOf(tags['tenantid']);
  const isSuppressed = [part['bounceSubType'], part['complaintSubType']].some((type) =>
    tokenOf(type)?.includes('suppress'),
  );
  const event = isSuppressed ? 'dropped' : named;
  const isGone = named === 'bounce' && part['bounceType'] === 'Permanent';
  // Why SES has suppressed the address earlier.
  const earlier = named === 'spamreport' ? named : isGone ? 'bounce' : undefined;
  const sentTo = listOf(email['destination']).map(addressOf);
  const tokens = new Set(sentTo.map(tokenOf));
  const listed = [
    ...listOf(part['bouncedRecipients']),
    ...listOf(part['complainedRecipients']),
    ...listOf(part['delayedRecipients']),
    ...listOf(part['recipients']),
  ];
  const recipients = (listed.length > 0 ? listed : sentTo).slice(0, MAX_RECIPIENTS);
  // For a complaint, SES lists all recipients who may have made it.
  const isCertain = named === 'bounce' || recipients.length === 1;
  return recipients.map((item, index) => {
    const details = objectOf(item);
    // A bounced address is what the bouncing server says: perhaps one that the email was forwarded to, or anybody's.
    const recipient = sentTo.length === 1 ? sentTo[0] : addressOf(details['emailAddress'] ?? item);
    const isOurs = tokens.has(tokenOf(recipient));
    return {
      deliveryid,
      tenantid,
      id: `ses:${reportId}:${index}`,
      event,
      time: part['timestamp'] ?? email['timestamp'],
      recipient,
      reason: details['diagnosticCode'] ?? part['reason'] ?? part['smtpResponse'],
      status: details['status'],
      type: isGone ? 'bounce' : 'blocked',
      url: part['link'],
      suppress: !isCertain || !isOurs ? null : isSuppressed ? earlier : undefined,
    };
  });
};

const tokenOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.toLowerCase() : undefined;

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
