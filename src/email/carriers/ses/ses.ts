import { ownValue } from '../../../foundation/ownValue.js';
import { formatAddress } from '../../addresses.js';
import type { SesAccount } from '../account.js';
import type { Carrier, LoadedEmail } from '../carrier.js';
import { fieldsOf, readCommonStatus, sentAs, wordsOf, type CarrierResponse } from '../exchangeOutcome.js';
import { createHttpCarrier } from '../httpCarrier.js';
import { MAX_EMAIL_BYTES } from '../../message/emailSize.js';
import { toMime } from '../../message/mime.js';
import { signRequest } from './sigv4.js';
import { tagsOf } from '../../message/tags.js';
import type { SendOutcome } from '../sending.js';

/** SES accepts 40 MB in base64, and no UTF-8 before the @. */
const LIMITS = {
  maxRecipients: 50,
  maxBytes: MAX_EMAIL_BYTES,
  allowsUtf8Addresses: false,
  allowsEmptyFiles: true,
};
/** The daily quota is a sliding window: some of it is available again within the hour. */
const QUOTA_WAIT_MS = 3_600_000;

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends through the Amazon SES API v2. @param baseUrl overrides the region's endpoint, for tests */
export function createSes(baseUrl: string | undefined): Carrier<SesAccount> {
  const baseUrlOf = ({ region }: SesAccount): string => baseUrl ?? regionUrl(region);
  const hostOf = (account: SesAccount): string => new URL(baseUrlOf(account)).host;
  return createHttpCarrier<SesAccount>(baseUrlOf, {
    limits: LIMITS,
    toRequest: async (email, account) =>
      signRequest(account, hostOf(account), {
        method: 'POST',
        url: '/v2/email/outbound-emails',
        headers: JSON_TYPE,
        body: Buffer.from(JSON.stringify(await toBody(email, account))),
      }),
    readResponse,
    verifyRequest: (account) =>
      signRequest(account, hostOf(account), { method: 'GET', url: '/v2/email/account', headers: JSON_TYPE }),
    // A key that may send but not read the account: its signature was verified.
    recognizes: (response) => response.status === 403 && errorOf(response) === 'AccessDeniedException',
    describe,
  });
}

const regionUrl = (region: string): string =>
  `https://email.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;

async function toBody(email: LoadedEmail, { configurationSet }: SesAccount): Promise<object> {
  const addresses = (list: LoadedEmail['recipients']): readonly string[] => list.map(({ email }) => email);
  return {
    FromEmailAddress: formatAddress({ ...email.sender, name: '' }),
    Destination: {
      ToAddresses: addresses(email.recipients),
      CcAddresses: addresses(email.cc),
      BccAddresses: addresses(email.bcc),
    },
    Content: { Raw: { Data: (await toMime(email)).toString('base64') } },
    EmailTags: tagsOf(email).map(([Name, Value]) => ({ Name, Value })),
    ...(configurationSet === undefined ? {} : { ConfigurationSetName: configurationSet }),
  };
}

const PAUSED: Readonly<Record<string, string>> = {
  AccountSuspendedException: 'ACCOUNT_BLOCKED',
  SendingPausedException: 'ACCOUNT_BLOCKED',
  // The configuration set does not exist.
  NotFoundException: 'ACCOUNT_BLOCKED',
};
const WAITS = ['TooManyRequestsException', 'ThrottlingException', 'Throttling', 'LimitExceededException'];
const NOT_SENT = ['RequestExpired', 'RequestAbortedException', 'RequestTimeoutException'];

/** Uses the documented error names, because they share statuses. */
function readResponse(response: CarrierResponse): SendOutcome {
  const { status, body } = response;
  const message = describe(response);
  if (status >= 200 && status < 300) return sentAs(fieldsOf(body)['MessageId'], status);
  const name = errorOf(response);
  if (status >= 500) return readCommonStatus(response, message);
  if (WAITS.includes(name)) {
    const waitMs = name === 'LimitExceededException' || /daily/i.test(message) ? QUOTA_WAIT_MS : undefined;
    if (waitMs !== undefined) return { kind: 'rate_limited', httpStatus: status, waitMs };
    return readCommonStatus({ ...response, status: 429 }, message);
  }
  const isExpired = /signature expired|not yet current/i.test(message);
  if (NOT_SENT.includes(name) || isExpired) {
    return { kind: 'retry', ambiguous: false, httpStatus: status, code: `CARRIER_${status}`, message };
  }
  const paused = ownValue(PAUSED, name);
  if (paused !== undefined) return { kind: 'tenant_paused', httpStatus: status, code: paused, message };
  if (name === 'MailFromDomainNotVerifiedException' || /not verified|:identity\//i.test(message)) {
    return { kind: 'rejected', httpStatus: status, code: 'SENDER_NOT_VERIFIED', message };
  }
  if (status === 401 || status === 403) {
    return { kind: 'tenant_paused', httpStatus: status, code: 'APIKEY_REFUSED', message };
  }
  return readCommonStatus(response, message);
}

/** The error name, such as `MessageRejected`: in a header, followed by a URL, or in the body, preceded by a namespace. */
function errorOf({ headers, body }: CarrierResponse): string {
  const { __type: type } = fieldsOf(body);
  const given = headers['x-amzn-errortype'] ?? type;
  return typeof given === 'string' ? (/^(?:[^#:]*#)?([^:]*)/.exec(given)?.[1] ?? '') : '';
}

function describe({ status, body }: CarrierResponse): string {
  const { message, Message } = fieldsOf(body);
  return wordsOf(message ?? Message, status);
}
