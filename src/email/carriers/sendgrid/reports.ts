import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AppError } from '../../../foundation/errors.js';
import { parseJson } from '../../../foundation/json/losslessJson.js';
import {
  MAX_ID_CHARACTERS,
  MAX_REASON_CHARACTERS,
  objectOf,
  textOf,
  type GivenEvent,
} from '../reports/events.js';
import {
  headerOf,
  signatureInvalid,
  signatureMissing,
  requireAge,
  type CarrierReports,
  type EventWebhook,
  type EventReader,
} from '../reports/webhook.js';

/** SendGrid's reports have up to 768 KB. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Events of SendGrid have more than 200 bytes. Each is a row, and tenants can sign reports themselves. */
const MAX_EVENTS = 5_000;
/**
 * SendGrid retries a report for up to a day, possibly with its original signature. Events are recorded idempotently,
 * so replaying a captured report within that day is harmless.
 */
const OLDEST_MS = 25 * 3_600_000;

/** A dummy public key: verifying with it when there is no key always fails, in the same time. */
const DUMMY_KEY = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey;

/** Reading a key takes longer than verifying with it. */
const KEYS = new LRUCache<string, KeyObject>({
  max: 1_000,
  memoMethod: (base64) =>
    createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' }),
});

/** ECDSA over P-256 with SHA-256, DER, of the timestamp and the body. */
const verifySignature: EventWebhook['verify'] = async ({ headers, body, nowMs, inTurn }, verificationKey) => {
  const signature = headerOf(headers, 'x-twilio-email-event-webhook-signature');
  const timestamp = headerOf(headers, 'x-twilio-email-event-webhook-timestamp');
  if (signature === '' || timestamp === '') throw signatureMissing();
  requireAge(Number(timestamp) * 1000, nowMs, OLDEST_MS);
  const key = verificationKey === undefined ? DUMMY_KEY : KEYS.memo(verificationKey);
  const signed = Buffer.concat([Buffer.from(timestamp), body]);
  const fits = verify('sha256', signed, { key, dsaEncoding: 'der' }, Buffer.from(signature, 'base64'));
  if (!fits || verificationKey === undefined) throw signatureInvalid();
  const list = await inTurn('tenant')(() => parseList(body.toString('utf8')));
  return { items: list.map(objectOf), reportId: '' };
};

/** Throws AppError BAD_REQUEST, BODY_TOO_LARGE. Exact: a delivery's id may be a number, as it was given. */
function parseList(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.', { cause: error });
  }
  if (!Array.isArray(value)) throw new AppError('BAD_REQUEST', 'The body is not a list of events.');
  if (value.length <= MAX_EVENTS) return value;
  throw new AppError('BODY_TOO_LARGE', `The report has more than ${MAX_EVENTS} events.`);
}

/** Events that are recorded. Others, such as processed, add nothing to the ledger. */
const KEPT: ReadonlySet<unknown> = new Set([
  'delivered',
  'bounce',
  'dropped',
  'deferred',
  'open',
  'click',
  'spamreport',
  'unsubscribe',
  'group_unsubscribe',
  'group_resubscribe',
]);

const read: EventReader = (item, report) => {
  // Without the label, the delivery alone tells whose event it is.
  const { event, tenantid = report.tenantid } = item;
  const id = textOf(item['sg_event_id'], MAX_ID_CHARACTERS);
  if (typeof event !== 'string' || !KEPT.has(event) || id === null) return [undefined];
  const reason =
    textOf(item['reason'], MAX_REASON_CHARACTERS) ?? textOf(item['response'], MAX_REASON_CHARACTERS);
  return [
    {
      deliveryid: item['deliveryid'],
      tenantid,
      id,
      event,
      time: Number(item['timestamp']) * 1000,
      recipient: item['email'],
      reason,
      status: item['status'],
      type: item['type'],
      url: item['url'],
      suppress: causeOf(event, reason ?? ''),
    },
  ];
};

/** Email is dropped for many reasons, two of which are an earlier bounce or complaint. */
function causeOf(event: string, reason: string): GivenEvent['suppress'] {
  if (event === 'group_unsubscribe') return 'unsubscribe';
  if (event !== 'dropped') return undefined;
  if (/^bounced address/i.test(reason)) return 'bounce';
  return /^spam report/i.test(reason) ? 'spamreport' : undefined;
}

export const reports: CarrierReports = {
  steps:
    'Settings → Email Settings → Event Webhooks: enter the URL below, choose the events, and turn Signed Event Webhook on.',
  secretName: 'Verification key',
  open: () => ({ maxBodyBytes: MAX_BODY_BYTES, verify: verifySignature, read }),
};
