import { formatAddress, type Address } from '../../addresses.js';
import { keyField, optional, textField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { attachmentType } from '../../message/attachmentType.js';
import { encodeHeader, encodeMailbox } from '../../message/encodedWords.js';
import { fieldsOf, readCommonStatus, sentAs, wordsOf, type CarrierResponse } from '../exchangeOutcome.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { listedAsInactive, toInactive } from './inactiveRecipients.js';
import { reports } from './reports.js';
import type { SendOutcome } from '../sending.js';

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
  baseUrls: [
    baseUrlSetting(
      'POSTMARK_BASE_URL',
      'https://api.postmarkapp.com/',
      'the Postmark API; set it to use a test server',
    ),
  ],
  reports,
  toRequest: (email, account) => ({
    method: 'POST',
    url: '/email',
    headers: headersOf(account),
    body: toBody(email, account),
  }),
  readResponse,
  verifyRequest: (account) => ({ method: 'GET', url: '/server', headers: headersOf(account) }),
  describe,
});

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
    ...(email.cc.length > 0 ? { Cc: email.cc.map(toPostmarkAddress).join(', ') } : {}),
    ...(email.bcc.length > 0 ? { Bcc: email.bcc.map(toPostmarkAddress).join(', ') } : {}),
    ...(email.replyTo ? { ReplyTo: email.replyTo.map(toPostmarkAddress).join(', ') } : {}),
    Subject: email.subject,
    HtmlBody: email.html,
    ...(email.text === undefined ? {} : { TextBody: email.text }),
    Headers: [...headers, ...id],
    ...(email.categories?.[0] === undefined ? {} : { Tag: email.categories[0] }),
    Metadata: {
      ...(email.deliveryid === null ? {} : { deliveryid: email.deliveryid }),
      tenantid: String(email.tenantid),
    },
    ...(messageStream === undefined ? {} : { MessageStream: messageStream }),
    ...(email.loaded.length > 0
      ? {
          Attachments: email.loaded.map(({ filename, mimetype, base64, contentId }) => ({
            Name: filename,
            Content: base64,
            ContentType: attachmentType(mimetype),
            ...(contentId === undefined ? {} : { ContentID: `cid:${contentId}` }),
          })),
        }
      : {}),
  };
}

/**
 * Postmark reads names in quotes, but not escaped quotes: it would read on after one as if it were the end of the name. What looks like an
 * encoded word is one in any header.
 */
const toPostmarkAddress = (address: Address): string =>
  /["\\]|=\?/.test(address.name) ? encodeMailbox(address) : formatAddress(address);

/** Postmark's error codes for status 422. All others mean that the email was rejected. */
const CODES: ReadonlyMap<unknown, readonly ['tenant_paused' | 'rejected', string]> = new Map([
  [10, ['tenant_paused', 'APIKEY_REFUSED']],
  [400, ['rejected', 'SENDER_NOT_VERIFIED']],
  [401, ['rejected', 'SENDER_NOT_VERIFIED']],
  [405, ['tenant_paused', 'CREDITS_EXCEEDED']],
  [412, ['tenant_paused', 'ACCOUNT_BLOCKED']],
  [413, ['tenant_paused', 'ACCOUNT_BLOCKED']],
]);
/** All recipients are inactive. */
const INACTIVE = 406;

function readResponse(response: CarrierResponse, email: LoadedEmail): SendOutcome {
  const { status, body } = response;
  const { ErrorCode: code, MessageID: id, Message: words } = fieldsOf(body);
  const message = describe(response);
  const inactive = typeof words === 'string' ? listedAsInactive(words, email) : [];
  if (status >= 200 && status < 300) {
    return { ...sentAs(id, status), ...(inactive.length > 0 ? { refused: inactive } : {}) };
  }
  if (status === 401) return { kind: 'tenant_paused', httpStatus: status, code: 'APIKEY_REFUSED', message };
  if (status === 422 && code === INACTIVE) {
    const all = [...email.recipients, ...email.cc, ...email.bcc].map((address) => toInactive(address.email));
    const refused = inactive.length > 0 ? inactive : all;
    return { kind: 'rejected', httpStatus: status, code: 'RECIPIENT_REFUSED', message, refused };
  }
  const known = status === 422 ? CODES.get(code) : undefined;
  if (known) return { kind: known[0], httpStatus: status, code: known[1], message };
  return readCommonStatus(response, message);
}

function describe({ status, body }: CarrierResponse): string {
  return wordsOf(fieldsOf(body)['Message'], status);
}
