import { formatAddress, type Address } from '../../addresses.js';
import { keyField, optional, textField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { attachmentType } from '../../message/attachmentType.js';
import { encodeHeader, encodeMailbox } from '../../message/encodedWords.js';
import { paused, rejected, type CarrierResponse } from '../exchangeOutcome.js';
import { ifAny } from '../carrierClient.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { labelsOf } from '../../message/tags.js';
import { listedAsInactive, toInactive } from './inactiveRecipients.js';
import { objectOf } from '../reports/events.js';
import { areDistinct, type ItemResponse } from '../sharedCalls.js';
import { reports } from './reports.js';
import type { RefusedRecipient, SendOutcome } from '../sending.js';

const FIELDS = {
  apikey: keyField('Server token', 'the token of a server'),
  messageStream: optional(textField('Message stream', 'the message stream')),
};
type PostmarkAccount = AccountOf<'postmark', typeof FIELDS>;

export const postmark = httpCarrier<PostmarkAccount>({
  kind: 'postmark',
  title: 'Postmark',
  fields: FIELDS,
  limits: { maxRecipients: 50, maxBytes: 10_000_000, allowsUtf8Addresses: false, allowsEmptyFiles: false },
  headerPrefixes: ['pm', 'postmark'],
  baseUrls: [baseUrlSetting('POSTMARK_BASE_URL', 'https://api.postmarkapp.com/', 'Postmark API')],
  reports,
  toRequest: (email, account) => ({
    method: 'POST',
    url: '/email',
    headers: headersOf(account),
    body: toBody(email, account),
  }),
  shared: {
    maxEmails: 500,
    toRequest: (emails, account) => ({
      method: 'POST',
      url: '/email/batch',
      headers: headersOf(account),
      body: emails.map((email) => toBody(email, account)),
    }),
    responsesIn,
  },
  wordsIn: ({ Message }) => Message,
  idIn: ({ body }) => body['MessageID'],
  refusedIn,
  readFailure,
  verifyRequest: (account) => ({ method: 'GET', url: '/server', headers: headersOf(account) }),
});

/** In the order of the emails. The status of the whole is 200, whatever becomes of each. */
function responsesIn(body: unknown, emails: number): readonly ItemResponse[] | undefined {
  if (!Array.isArray(body) || body.length !== emails) return undefined;
  const items = body.map(objectOf);
  if (!items.every(({ ErrorCode }) => typeof ErrorCode === 'number')) return undefined;
  const accepted = items.filter(({ ErrorCode }) => ErrorCode === 0);
  if (!areDistinct(accepted.map(({ MessageID }) => MessageID))) return undefined;
  return items.map((item) => ({ status: item['ErrorCode'] === 0 ? 200 : 422, body: item }));
}

function headersOf({ apikey }: PostmarkAccount) {
  return {
    'X-Postmark-Server-Token': apikey,
    Accept: 'application/json',
    'Content-Type': 'application/json',
  };
}

function toBody(email: LoadedEmail, { messageStream }: PostmarkAccount): object {
  const headers = Object.entries(email.headers ?? {}).map(([name, value]) => ({
    Name: name,
    Value: encodeHeader(name, value),
  }));
  // Otherwise the carrier would replace it with its own.
  const id =
    email.messageId === undefined
      ? []
      : [
          { Name: 'Message-ID', Value: email.messageId },
          { Name: 'X-PM-KeepID', Value: 'true' },
        ];
  return {
    From: toPostmarkAddress(email.sender),
    To: email.recipients.map(toPostmarkAddress).join(', '),
    Cc: ifAny(email.cc.map(toPostmarkAddress))?.join(', '),
    Bcc: ifAny(email.bcc.map(toPostmarkAddress))?.join(', '),
    ReplyTo: email.replyTo?.map(toPostmarkAddress).join(', '),
    Subject: email.subject,
    HtmlBody: email.html,
    TextBody: email.text,
    Headers: [...headers, ...id],
    Tag: email.categories?.[0],
    Metadata: labelsOf(email),
    MessageStream: messageStream,
    Attachments: ifAny(
      email.loaded.map(({ filename, mimetype, base64, contentId }) => ({
        Name: filename,
        Content: base64,
        ContentType: attachmentType(mimetype),
        ContentID: contentId && `cid:${contentId}`,
      })),
    ),
  };
}

/**
 * Postmark reads names in quotes, but not escaped quotes: it would read on after one as if it were the end of the name. What looks like an
 * encoded word is one in any header.
 */
const toPostmarkAddress = (address: Address): string =>
  /["\\]|=\?/.test(address.name) ? encodeMailbox(address) : formatAddress(address);

/** Postmark's error codes for status 422. All others mean that the email was rejected. */
const PAUSED: ReadonlyMap<unknown, string> = new Map([
  [10, 'APIKEY_REFUSED'],
  [405, 'CREDITS_EXCEEDED'],
  [412, 'ACCOUNT_BLOCKED'],
  [413, 'ACCOUNT_BLOCKED'],
]);
const SENDER_NOT_VERIFIED: readonly unknown[] = [400, 401];
/** All recipients are inactive. */
const INACTIVE = 406;

function refusedIn({ body }: CarrierResponse, email: LoadedEmail): readonly RefusedRecipient[] {
  return typeof body['Message'] === 'string' ? listedAsInactive(body['Message'], email) : [];
}

function readFailure(response: CarrierResponse, email: LoadedEmail): SendOutcome | undefined {
  if (response.status === 401) return paused(response, 'APIKEY_REFUSED');
  if (response.status !== 422) return undefined;
  const { ErrorCode: code } = response.body;
  if (code === INACTIVE) {
    const listed = refusedIn(response, email);
    const all = [...email.recipients, ...email.cc, ...email.bcc].map((address) => toInactive(address.email));
    return { ...rejected(response, 'RECIPIENT_REFUSED'), refused: listed.length > 0 ? listed : all };
  }
  if (SENDER_NOT_VERIFIED.includes(code)) return rejected(response, 'SENDER_NOT_VERIFIED');
  const account = PAUSED.get(code);
  return account === undefined ? undefined : paused(response, account);
}
