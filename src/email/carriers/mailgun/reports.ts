import { createHash, createHmac } from 'node:crypto';
import { ownValue } from '../../../foundation/ownValue.js';
import { MAX_REASON_CHARACTERS, nameIn, objectOf, textOf, type Names } from '../reports/events.js';
import {
  signatureInvalid,
  isEqual,
  MAX_REPORT_BYTES,
  signatureMissing,
  parseReport,
  requireAge,
  type EventReader,
  type CarrierReports,
  type EventWebhook,
} from '../reports/webhook.js';

/** Mailgun retries for 8 hours, and may repeat its first signature. */
const OLDEST_MS = 9 * 3_600_000;

/** Mailgun: HMAC-SHA256 of time and token, in the body. */
const verify: EventWebhook['verify'] = async (given, secret) => {
  const { nowMs } = given;
  const report = await parseReport(given, 'anonymous');
  const { timestamp, token, signature } = objectOf(report['signature']);
  if (typeof token !== 'string' || typeof signature !== 'string' || token === '') throw signatureMissing();
  // Time and token are signed as one text. Any other form of the time, such as 1e9, may be the same text with a shorter token.
  if (!isTime(timestamp)) throw signatureMissing();
  requireAge(Number(timestamp) * 1000, nowMs, OLDEST_MS);
  const expected = createHmac('sha256', secret ?? '')
    .update(String(timestamp) + token)
    .digest('hex');
  if (!isEqual(signature, expected) || secret === undefined) throw signatureInvalid();
  return {
    items: [report],
    reportId: token,
    once: {
      token: sha256(`${timestamp}:${token}`),
      report: sha256(JSON.stringify(objectOf(report['event-data']))),
    },
  };
};

const isTime = (value: unknown): value is string | number =>
  (typeof value === 'string' || typeof value === 'number') && /^\d{10}$/.test(String(value));

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');

const EVENTS: Names = {
  delivered: 'delivered',
  failed: 'bounce',
  complained: 'spamreport',
  opened: 'open',
  clicked: 'click',
  unsubscribed: 'unsubscribe',
};
/** Email that Mailgun did not attempt, because of an earlier event. */
const SUPPRESSED: Readonly<Record<string, 'bounce' | 'spamreport' | undefined>> = {
  'suppress-bounce': 'bounce',
  'suppress-complaint': 'spamreport',
  'suppress-unsubscribe': undefined,
};

const read: EventReader = (report) => {
  const data = objectOf(report['event-data']);
  const { id, timestamp, recipient, url } = data;
  const named = nameIn(EVENTS, data['event']);
  if (named === undefined || typeof id !== 'string') return [undefined];
  const reason = textOf(data['reason'], MAX_REASON_CHARACTERS) ?? '';
  const status = objectOf(data['delivery-status']);
  const variables = objectOf(data['user-variables']);
  const isDropped = named === 'bounce' && Object.hasOwn(SUPPRESSED, reason);
  const isTemporary = named === 'bounce' && data['severity'] !== 'permanent';
  const event = isDropped ? 'dropped' : isTemporary ? 'deferred' : named;
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
      type: reason === 'bounce' ? 'bounce' : 'blocked',
      url,
      suppress: isDropped ? ownValue(SUPPRESSED, reason) : undefined,
    },
  ];
};

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

export const reports: CarrierReports = {
  steps: 'Add a webhook with the URL below for each event.',
  secretName: 'HTTP webhook signing key',
  secret: {
    doc: 'the HTTP webhook signing key',
    pattern: /^[\x21-\x7e]{16,200}$/,
    rule: 'must be the HTTP webhook signing key of the account',
  },
  open: () => ({ maxBodyBytes: MAX_REPORT_BYTES, verify, read }),
};
