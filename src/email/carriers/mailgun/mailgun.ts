import { choiceField, domainField, keyField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { paused, type CarrierResponse } from '../exchangeOutcome.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { toMime } from '../../message/mime.js';
import type { SendOutcome } from '../sending.js';
import { readWait } from '../rateLimitWait.js';
import { reports } from './reports.js';

const FIELDS = {
  apikey: keyField(),
  domain: domainField('Sending domain', 'the sending domain'),
  region: choiceField('Region', 'us (default) or eu', ['us', 'eu']),
};
type MailgunAccount = AccountOf<'mailgun', typeof FIELDS>;

/** Its API accepts a complete MIME message. */
export const mailgun = httpCarrier<MailgunAccount>({
  kind: 'mailgun',
  title: 'Mailgun',
  fields: FIELDS,
  limits: { maxRecipients: 1_000, maxBytes: 25_000_000, allowsUtf8Addresses: false, allowsEmptyFiles: true },
  baseUrls: [
    baseUrlSetting('MAILGUN_BASE_URL', 'https://api.mailgun.net/', 'Mailgun API'),
    baseUrlSetting(
      'MAILGUN_EU_BASE_URL',
      'https://api.eu.mailgun.net/',
      'Mailgun API for accounts in the EU',
    ),
  ],
  baseUrlOf: ({ region }, { MAILGUN_BASE_URL: us, MAILGUN_EU_BASE_URL: eu }) => (region === 'eu' ? eu : us),
  reports,
  async toRequest(email, account) {
    const form = new Response(await toForm(email));
    return {
      method: 'POST',
      url: `/v3/${account.domain}/messages.mime`,
      headers: { ...headersOf(account), 'Content-Type': form.headers.get('content-type') ?? '' },
      body: new Uint8Array(await form.arrayBuffer()),
    };
  },
  wordsIn: ({ message }) => message,
  idIn: ({ body }) => body['id'],
  readFailure,
  verifyRequest: (account) => ({
    method: 'GET',
    url: `/v3/domains/${account.domain}`,
    headers: headersOf(account),
  }),
});

/** What the carrier's documentation says of tags. */
const IS_TAG = /^[ -~]{1,128}$/;

function headersOf({ apikey }: MailgunAccount) {
  return { Authorization: `Basic ${Buffer.from(`api:${apikey}`).toString('base64')}` };
}

async function toForm(email: LoadedEmail): Promise<FormData> {
  const form = new FormData();
  for (const { email: address } of [...email.recipients, ...email.cc, ...email.bcc])
    form.append('to', address);
  for (const category of email.categories ?? []) if (IS_TAG.test(category)) form.append('o:tag', category);
  if (email.deliveryid !== null) form.append('v:deliveryid', email.deliveryid);
  form.append('v:tenantid', String(email.tenantid));
  form.append('message', new Blob([new Uint8Array(await toMime(email))]), 'message.eml');
  return form;
}

/** A domain has had its recipients of an hour, says Mailgun, and until when. */
const LIMITED = 420;
const UNTIL = /\btry again after ([\w,: ]+)/i;
const UNKNOWN_WAIT_SECONDS = '60';

function readFailure(response: CarrierResponse): SendOutcome | undefined {
  const { status, headers, message } = response;
  if (status === 401) return paused(response, 'APIKEY_REFUSED');
  // The domain or the account is disabled or missing.
  if ([402, 403, 404].includes(status)) return paused(response, 'ACCOUNT_BLOCKED');
  if (status !== LIMITED) return undefined;
  const until = UNTIL.exec(message)?.[1] ?? UNKNOWN_WAIT_SECONDS;
  const waitMs = readWait({ ...headers, 'retry-after': until }, Date.now());
  return { kind: 'rate_limited', httpStatus: status, waitMs };
}
