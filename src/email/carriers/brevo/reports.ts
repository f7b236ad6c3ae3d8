import { parseJsonObject } from '../../../foundation/json/losslessJson.js';
import { idOf, MAX_TOKEN_CHARACTERS, nameIn, textOf, type Names } from '../reports/events.js';
import {
  MAX_REPORT_BYTES,
  URL_PASSWORD,
  verifyPassword,
  type CarrierReports,
  type EventReader,
} from '../reports/webhook.js';

const EVENTS: Names = {
  delivered: 'delivered',
  deferred: 'deferred',
  hard_bounce: 'bounce',
  invalid_email: 'bounce',
  soft_bounce: 'bounce',
  blocked: 'dropped',
  error: 'dropped',
  spam: 'spamreport',
  complaint: 'spamreport',
  opened: 'open',
  unique_opened: 'open',
  proxy_open: 'open',
  unique_proxy_open: 'open',
  click: 'click',
  unsubscribe: 'unsubscribe',
  unsubscribed: 'unsubscribe',
};
/** Bounces that mean the mailbox does not exist. */
const GONE: readonly unknown[] = ['hard_bounce', 'invalid_email'];
/** A smaller number is in seconds: in milliseconds, it would be before 1974. */
const MIN_EPOCH_MS = 1e11;

const read: EventReader = (report) => {
  const { event: given, email, reason, link } = report;
  const event = nameIn(EVENTS, given);
  if (event === undefined) return [undefined];
  const labels = parseJsonObject(textOf(report['X-Mailin-custom'], MAX_TOKEN_CHARACTERS) ?? '') ?? {};
  // Its other times are in the account's time zone.
  const time = Number(report['ts_epoch'] ?? report['ts_event']);
  return [
    {
      deliveryid: labels['deliveryid'],
      tenantid: labels['tenantid'],
      // Brevo's `id` is that of the webhook. The first opening may be reported twice, under two names.
      id: idOf('brevo', report['message-id'], event, time, email),
      event,
      time: time < MIN_EPOCH_MS ? time * 1000 : time,
      recipient: email,
      reason,
      type: GONE.includes(given) ? 'bounce' : 'blocked',
      url: link,
    },
  ];
};

/** Brevo signs nothing. */
export const reports: CarrierReports = {
  steps:
    'Transactional → Settings → Webhook: add the URL below for the events that you want, with the name rowpost and a password of your choice in it: https://rowpost:<password>@…',
  secretName: 'That password, of 16 characters or more',
  secret: URL_PASSWORD,
  open: () => ({ maxBodyBytes: MAX_REPORT_BYTES, verify: verifyPassword, read }),
};
