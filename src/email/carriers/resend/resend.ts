import { IDEMPOTENCY_KEY_USED } from '../../../db/ledger/lostAttempts.js';
import { isJsonObject } from '../../../foundation/json/losslessJson.js';
import { formatAddress, isPlainName, type Address } from '../../addresses.js';
import { keyField, optional, type AccountField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { attachmentType } from '../../message/attachmentType.js';
import { encodeHeaders, encodeMailbox } from '../../message/encodedWords.js';
import { paused, rejected, type CarrierResponse } from '../exchangeOutcome.js';
import { ifAny } from '../carrierClient.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { tagsOf } from '../../message/tags.js';
import type { SendOutcome } from '../sending.js';
import { areDistinct, type ItemResponse } from '../sharedCalls.js';
import { listOf, objectOf } from '../reports/events.js';
import { RECIPIENTS_TAG, reports } from './reports.js';

/** The wait after a daily quota is exhausted; Resend doesn't report when it resets. */
const QUOTA_WAIT_MS = 3_600_000;

const FIELDS = {
  apikey: keyField(),
  shareCalls: optional({
    type: 'flag',
    label: 'Share calls',
    hint: "Emails that Resend's rate limit holds back are sent in one call, up to 100. One whose worker is killed during such a call may arrive twice, which is recorded.",
    doc: "whether emails that the carrier's rate limit holds back share a call, up to 100 (default false). One whose worker is killed during such a call may arrive twice, which is recorded",
    fallback: (): boolean => false,
  } satisfies AccountField<boolean>),
};
type ResendAccount = AccountOf<'resend', typeof FIELDS>;

/** It honors idempotency keys for 24 hours. */
export const resend = httpCarrier<ResendAccount>({
  kind: 'resend',
  title: 'Resend',
  fields: FIELDS,
  limits: { maxRecipients: 50, maxBytes: 40_000_000, allowsUtf8Addresses: false, allowsEmptyFiles: true },
  isIdempotent: true,
  baseUrls: [baseUrlSetting('RESEND_BASE_URL', 'https://api.resend.com/', 'Resend API')],
  reports,
  toRequest: (email, account) => ({
    method: 'POST',
    url: '/emails',
    headers: {
      ...headersOf(account),
      ...(email.idempotencyKey === undefined ? {} : { 'Idempotency-Key': email.idempotencyKey }),
    },
    body: toBody(email),
  }),
  shared: {
    isWanted: ({ shareCalls = false }) => shareCalls,
    maxEmails: 100,
    // It allows two a second at least.
    intervalMs: 525,
    toRequest: (emails, account, key) => ({
      method: 'POST',
      url: '/emails/batch',
      headers: { ...headersOf(account), 'Idempotency-Key': key, 'x-batch-validation': 'permissive' },
      body: emails.map(toBody),
    }),
    responsesIn,
  },
  wordsIn: ({ message }) => message,
  idIn: ({ body }) => body['id'],
  readFailure,
  verifyRequest: (account) => ({ method: 'GET', url: '/domains', headers: headersOf(account) }),
  // A send-only key, which is the recommended kind.
  recognizes: ({ status, body }) => status === 401 && body['name'] === 'restricted_api_key',
});

function headersOf({ apikey }: ResendAccount) {
  return {
    Authorization: `Bearer ${apikey}`,
    'Content-Type': 'application/json',
  };
}

function toBody(email: LoadedEmail): object {
  return {
    from: formatAddress(email.sender),
    to: email.recipients.map(toResendAddress),
    cc: ifAny(email.cc.map(toResendAddress)),
    bcc: ifAny(email.bcc.map(toResendAddress)),
    reply_to: email.replyTo?.map(toResendAddress),
    subject: email.subject,
    html: email.html,
    // If omitted, Resend would generate it from the HTML.
    text: email.text ?? '',
    headers: encodeHeaders(email.headers),
    attachments: ifAny(
      email.loaded.map(({ filename, mimetype, base64, contentId }) => ({
        filename,
        content: base64,
        content_type: attachmentType(mimetype),
        content_id: contentId,
      })),
    ),
    tags: [...tagsOf(email), [RECIPIENTS_TAG, recipientsOf(email)]].map(([name, value]) => ({ name, value })),
  };
}

/**
 * Ids of those that it has accepted, in order, and the others by their place. Unless each email is one of them once, it is unknown which
 * was accepted.
 */
function responsesIn(body: unknown, emails: number): readonly ItemResponse[] | undefined {
  if (!isJsonObject(body) || !Array.isArray(body['data'])) return undefined;
  const accepted = body['data'].map(objectOf);
  const errors = listOf(body['errors']).map(objectOf);
  if (accepted.length + errors.length !== emails || !areDistinct(accepted.map(({ id }) => id)))
    return undefined;
  const byPlace = new Map(errors.map((error) => [error['index'], error]));
  const items = Array.from({ length: emails }, (_, index): ItemResponse => {
    const error = byPlace.get(index);
    return error ? { status: 422, body: error } : { status: 200, body: accepted.shift() ?? {} };
  });
  const placed = items.filter(({ status }) => status === 422);
  return placed.length === errors.length ? items : undefined;
}

const recipientsOf = ({ recipients, cc, bcc }: LoadedEmail): string =>
  String(recipients.length + cc.length + bcc.length);

/** Resend refuses names in quotes, and takes encoded words except in `from`. */
const toResendAddress = (address: Address): string =>
  address.name === '' || isPlainName(address.name) ? formatAddress(address) : encodeMailbox(address);

/** Uses the documented error names, because they share statuses. */
function readFailure(response: CarrierResponse): SendOutcome | undefined {
  const { status, body, message } = response;
  const { name } = body;
  switch (name) {
    case 'invalid_idempotent_request':
      // It means that there was such a request, not that its email was sent.
      return {
        kind: 'retry',
        ambiguous: true,
        httpStatus: status,
        code: 'IDEMPOTENCY_KEY_USED',
        message: IDEMPOTENCY_KEY_USED,
      };
    case 'concurrent_idempotent_requests':
      return { kind: 'retry', ambiguous: true, httpStatus: status, code: 'CARRIER_409', message };
    case 'daily_quota_exceeded':
      return { kind: 'rate_limited', httpStatus: status, waitMs: QUOTA_WAIT_MS };
    case 'monthly_quota_exceeded':
      return paused(response, 'CREDITS_EXCEEDED');
  }
  if (status === 401 || (status === 403 && name === 'invalid_api_key'))
    return paused(response, 'APIKEY_REFUSED');
  if (status !== 403) return undefined;
  return name === 'validation_error'
    ? rejected(response, 'SENDER_NOT_VERIFIED')
    : paused(response, 'ACCOUNT_BLOCKED');
}
