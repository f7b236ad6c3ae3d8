import type { Address } from '../../addresses.js';
import { encodeHeaders, encodeName } from '../../message/encodedWords.js';
import { keyField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { paused, readCommonStatus, rejected, type CarrierResponse } from '../exchangeOutcome.js';
import { ifAny } from '../carrierClient.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { labelsOf } from '../../message/tags.js';
import type { SendOutcome } from '../sending.js';
import { reports } from './reports.js';

const FIELDS = { apikey: keyField() };
type BrevoAccount = AccountOf<'brevo', typeof FIELDS>;

/** Not idempotent: it keeps a key for 15 minutes, and a retry may come later. */
export const brevo = httpCarrier<BrevoAccount>({
  kind: 'brevo',
  title: 'Brevo',
  fields: FIELDS,
  limits: {
    maxRecipients: 99,
    maxBytes: 20_000_000,
    allowsUtf8Addresses: false,
    allowsEmptyFiles: false,
    maxReplyTo: 1,
    allowsInlineFiles: false,
  },
  headerPrefixes: ['brevo', 'mailin', 'sib'],
  baseUrls: [baseUrlSetting('BREVO_BASE_URL', 'https://api.brevo.com/', 'Brevo API')],
  reports,
  toRequest: (email, account) => ({
    method: 'POST',
    url: '/v3/smtp/email',
    headers: headersOf(account),
    body: toBody(email),
  }),
  wordsIn: ({ message }) => message,
  idIn: ({ body }) => body['messageId'],
  readFailure,
  verifyRequest: (account) => ({ method: 'GET', url: '/v3/account', headers: headersOf(account) }),
});

function headersOf({ apikey }: BrevoAccount) {
  return { 'api-key': apikey, Accept: 'application/json', 'Content-Type': 'application/json' };
}

function toBody(email: LoadedEmail): object {
  const [replyTo] = email.replyTo ?? [];
  return {
    sender: toBrevoAddress(email.sender),
    to: email.recipients.map(toBrevoAddress),
    cc: ifAny(email.cc.map(toBrevoAddress)),
    bcc: ifAny(email.bcc.map(toBrevoAddress)),
    replyTo: replyTo && toBrevoAddress(replyTo),
    subject: email.subject,
    htmlContent: email.html,
    textContent: email.text,
    // Returned in reports.
    headers: { ...encodeHeaders(email.headers), 'X-Mailin-custom': JSON.stringify(labelsOf(email)) },
    tags: ifAny(email.categories ?? []),
    attachment: ifAny(email.loaded.map(({ filename, base64 }) => ({ name: filename, content: base64 }))),
  };
}

/** Brevo drops a name with both punctuation and characters beyond ASCII, unless it is encoded already. */
const toBrevoAddress = ({ email, name }: Address): object =>
  name === '' ? { email } : { email, name: encodeName(name) };

/** By the documented error codes, some of which come with more than one status. */
const PAUSED: ReadonlyMap<unknown, string> = new Map([
  ['unauthorized', 'APIKEY_REFUSED'],
  ['not_enough_credits', 'CREDITS_EXCEEDED'],
  ['account_under_validation', 'ACCOUNT_BLOCKED'],
  ['permission_denied', 'ACCOUNT_BLOCKED'],
]);
const PAUSED_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [401, 'APIKEY_REFUSED'],
  [402, 'CREDITS_EXCEEDED'],
  [403, 'ACCOUNT_BLOCKED'],
]);

function readFailure(response: CarrierResponse): SendOutcome {
  const { status, headers, body, message } = response;
  const code =
    status < 500 && status !== 429 ? (PAUSED.get(body['code']) ?? PAUSED_BY_STATUS.get(status)) : undefined;
  if (code !== undefined) return paused(response, code);
  if (status === 400 && /\bsender\b.*\bvalid/i.test(message))
    return rejected(response, 'SENDER_NOT_VERIFIED');
  // Brevo has its own name for when the period of its rate limit ends.
  const reset = headers['x-sib-ratelimit-reset'];
  return readCommonStatus({ ...response, headers: { 'x-ratelimit-reset': reset, ...headers } });
}
