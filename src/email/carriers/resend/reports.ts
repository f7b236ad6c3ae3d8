import { createHmac } from 'node:crypto';
import { ownValue } from '../../../foundation/ownValue.js';
import {
  addressOf,
  listOf,
  MAX_RECIPIENTS,
  MAX_TOKEN_CHARACTERS,
  nameIn,
  objectOf,
  textOf,
  type Json,
  type Names,
} from '../reports/events.js';
import {
  headerOf,
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

/** Svix signs each attempt anew. */
const OLDEST_MS = 5 * 60_000;
const MAX_SIGNATURES = 10;

/** Svix: HMAC-SHA256 of id, time and body; several signatures while a secret is being replaced. */
const verify: EventWebhook['verify'] = async (report, secret) => {
  const { headers, body, nowMs } = report;
  const [id, timestamp, signatures] = ['svix-id', 'svix-timestamp', 'svix-signature'].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string];
  if (id === '' || timestamp === '' || signatures === '') throw signatureMissing();
  requireAge(Number(timestamp) * 1000, nowMs, OLDEST_MS);
  const key = Buffer.from((secret ?? '').replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const fits = signatures.split(' ', MAX_SIGNATURES).some((each) => isEqual(each, `v1,${expected}`));
  if (!fits || secret === undefined) throw signatureInvalid();
  return { items: [await parseReport(report, 'tenant')], reportId: id };
};

/** The tag that says how many addresses an email went to, copies included. */
export const RECIPIENTS_TAG = 'recipients';

const EVENTS: Names = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounce',
  'email.complained': 'spamreport',
  'email.delivery_delayed': 'deferred',
  'email.opened': 'open',
  'email.clicked': 'click',
  'email.failed': 'dropped',
  'email.suppressed': 'dropped',
};

const read: EventReader = (report, { reportId }) => {
  const event = nameIn(EVENTS, report['type']);
  const data = objectOf(report['data']);
  if (event === undefined) return [undefined];
  const tags = tagsOf(data['tags']);
  const [bounce, click, failed, suppressed] = ['bounce', 'click', 'failed', 'suppressed'].map((name) =>
    objectOf(ownValue(data, name)),
  );
  const recipients = listOf(data['to']).slice(0, MAX_RECIPIENTS);
  // There is an event for each address, but it names all of `to`, and no copies: it may be about any of them.
  const isCertain = recipients.length === 1 && !(Number(tags[RECIPIENTS_TAG]) > 1);
  return recipients.map((recipient, index) => ({
    deliveryid: tags['deliveryid'],
    tenantid: tags['tenantid'],
    id: `resend:${reportId}:${index}`,
    event,
    time: report['created_at'],
    recipient: addressOf(recipient),
    reason: bounce?.['message'] ?? suppressed?.['message'] ?? failed?.['reason'],
    type: bounce?.['type'] === 'Permanent' ? 'bounce' : 'blocked',
    url: click?.['link'],
    suppress: isCertain ? undefined : null,
  }));
};

/** Tags are an object by name, or the list that was sent. */
function tagsOf(tags: unknown): Json {
  if (!Array.isArray(tags)) return objectOf(tags);
  return Object.fromEntries(
    tags.map(objectOf).map(({ name, value }) => [textOf(name, MAX_TOKEN_CHARACTERS) ?? '', value]),
  );
}

export const reports: CarrierReports = {
  steps: 'Add a webhook with the URL below.',
  secretName: 'Signing secret',
  secret: {
    doc: 'the signing secret (whsec_…)',
    pattern: /^whsec_[A-Za-z0-9+/]{16,200}={0,2}$/,
    rule: 'must be the signing secret of the webhook: whsec_ and base64',
  },
  open: () => ({ maxBodyBytes: MAX_REPORT_BYTES, verify, read }),
};
