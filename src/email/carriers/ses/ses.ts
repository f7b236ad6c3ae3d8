import { ownValue } from '../../../foundation/ownValue.js';
import { formatAddress } from '../../addresses.js';
import { keyField, optional, textField, type AccountOf } from '../account.js';
import type { LoadedEmail } from '../carrier.js';
import { paused, readCommonStatus, rejected, type CarrierResponse } from '../exchangeOutcome.js';
import { baseUrlSetting, httpCarrier } from '../httpCarrier.js';
import { MAX_EMAIL_BYTES } from '../../message/emailSize.js';
import { toMime } from '../../message/mime.js';
import { reports } from './reports.js';
import { signRequest } from './sigv4.js';
import { tagsOf } from '../../message/tags.js';
import type { SendOutcome } from '../sending.js';

/** The daily quota is a sliding window: some of it is available again within the hour. */
const QUOTA_WAIT_MS = 3_600_000;

const JSON_TYPE = { 'content-type': 'application/json' };

const FIELDS = {
  accessKeyId: keyField('Access key ID', 'the AWS access key ID'),
  secretAccessKey: keyField('Secret access key', 'the AWS secret access key'),
  region: {
    ...textField('Region', 'the AWS region, such as eu-central-1'),
    hint: 'Such as eu-central-1.',
    // It becomes part of a host name.
    problemOf: (region: string) =>
      /^[a-z]{2,4}(-[a-z]{2,12}){1,3}-\d{1,2}$/.test(region)
        ? undefined
        : 'must be a region of AWS, such as eu-central-1',
  },
  configurationSet: optional(
    textField('Configuration set', 'the configuration set that publishes delivery events'),
  ),
};
export type SesAccount = AccountOf<'ses', typeof FIELDS>;

/** Version 2 of its API. */
export const ses = httpCarrier<SesAccount>({
  kind: 'ses',
  title: 'Amazon SES',
  fields: FIELDS,
  // SES accepts 40 MB in base64, and no UTF-8 before the @.
  limits: {
    maxRecipients: 50,
    maxBytes: MAX_EMAIL_BYTES,
    allowsUtf8Addresses: false,
    allowsEmptyFiles: true,
  },
  baseUrls: [baseUrlSetting('SES_BASE_URL', undefined, 'SES API', "that of the account's region")],
  baseUrlOf: ({ region }, urls) => urls['SES_BASE_URL'] ?? regionUrl(region),
  reports,
  toRequest: async (email, account, baseUrl) =>
    signRequest(account, new URL(baseUrl).host, {
      method: 'POST',
      url: '/v2/email/outbound-emails',
      headers: JSON_TYPE,
      body: Buffer.from(JSON.stringify(await toBody(email, account))),
    }),
  wordsIn: ({ message, Message }) => message ?? Message,
  idIn: ({ body }) => body['MessageId'],
  readFailure,
  verifyRequest: (account, baseUrl) =>
    signRequest(account, new URL(baseUrl).host, {
      method: 'GET',
      url: '/v2/email/account',
      headers: JSON_TYPE,
    }),
  // A key that may send but not read the account: its signature was verified.
  recognizes: (response) => response.status === 403 && errorOf(response) === 'AccessDeniedException',
});

function regionUrl(region: string): string {
  return `https://email.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;
}

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
    ConfigurationSetName: configurationSet,
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
function readFailure(response: CarrierResponse): SendOutcome | undefined {
  const { status, message } = response;
  if (status >= 500) return undefined;
  const name = errorOf(response);
  if (WAITS.includes(name)) {
    const waitMs = name === 'LimitExceededException' || /daily/i.test(message) ? QUOTA_WAIT_MS : undefined;
    if (waitMs !== undefined) return { kind: 'rate_limited', httpStatus: status, waitMs };
    return readCommonStatus({ ...response, status: 429 });
  }
  const isExpired = /signature expired|not yet current/i.test(message);
  if (NOT_SENT.includes(name) || isExpired) {
    return { kind: 'retry', ambiguous: false, httpStatus: status, code: `CARRIER_${status}`, message };
  }
  const code = ownValue(PAUSED, name);
  if (code !== undefined) return paused(response, code);
  if (name === 'MailFromDomainNotVerifiedException' || /not verified|:identity\//i.test(message)) {
    return rejected(response, 'SENDER_NOT_VERIFIED');
  }
  return status === 401 || status === 403 ? paused(response, 'APIKEY_REFUSED') : undefined;
}

/** The error name, such as `MessageRejected`: in a header, followed by a URL, or in the body, preceded by a namespace. */
function errorOf({ headers, body }: CarrierResponse): string {
  const given = headers['x-amzn-errortype'] ?? body['__type'];
  return typeof given === 'string' ? (/^(?:[^#:]*#)?([^:]*)/.exec(given)?.[1] ?? '') : '';
}
