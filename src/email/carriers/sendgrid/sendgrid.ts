import library from '@sendgrid/mail';
import { isPlainName, quoteName, type Address } from '../../addresses.js';
import { keyField, type AccountOf } from '../account.js';
import type { LoadedAttachment } from '../attachmentLoader.js';
import type { CarrierDefinition, LoadedEmail } from '../carrier.js';
import { attachmentType } from '../../message/attachmentType.js';
import { encodeHeaders } from '../../message/encodedWords.js';
import { readExchange, verificationOf } from '../exchangeOutcome.js';
import { MAX_EMAIL_BYTES } from '../../message/emailSize.js';
import { labelsOf } from '../../message/tags.js';
import { setting } from '../../../config/settings/setting.js';
import { webAddress } from '../../../config/settingValues.js';
import { CarrierClient, failedExchange, type Exchange, type CarrierRequest } from '../carrierClient.js';
import { sendgridResponses } from './sendgridResponse.js';
import type { EmailMessage, SendContext } from '../sending.js';
import { reports } from './reports.js';

const FIELDS = { apikey: keyField() };
type SendgridAccount = AccountOf<'sendgrid', typeof FIELDS>;

/** Sends through @sendgrid/mail. */
export const sendgrid: CarrierDefinition<SendgridAccount> = {
  kind: 'sendgrid',
  title: 'SendGrid',
  fields: FIELDS,
  limits: {
    maxRecipients: 1_000,
    maxBytes: MAX_EMAIL_BYTES,
    allowsUtf8Addresses: false,
    allowsEmptyFiles: false,
  },
  headerPrefixes: ['smtpapi', 'sg', 'sendgrid'],
  baseUrls: [
    setting<string | undefined>(
      'SENDGRID_BASE_URL',
      webAddress,
      'https://api.sendgrid.com/',
      'Base URL of the SendGrid API; set it for another region or a test server.',
    ),
  ],
  reports,
  open({ carrierUrls }) {
    const client = new CarrierClient(carrierUrls['SENDGRID_BASE_URL'] ?? '');
    return {
      async send(email, context) {
        const exchange = await createService(client, context).send(toSendgrid(email)).catch(failedExchange);
        return readExchange(exchange, sendgridResponses, email, [context.account.apikey]);
      },
      async verify({ apikey }, deadlineMs) {
        const headers = { ...defaultHeaders, Authorization: `Bearer ${apikey}` };
        const request = { method: 'GET', url: '/v3/scopes', headers };
        const exchange = await client.call(request, { deadlineMs });
        return verificationOf(exchange, sendgridResponses, [apikey]);
      },
      close: () => client.close(),
    };
  },
};

interface Service {
  readonly client: { readonly defaultHeaders: Readonly<Record<string, string>> };
  setClient(client: { request(request: CarrierRequest): Promise<Exchange> }): void;
  /** @returns the result of its client's request */
  send(data: object): Promise<Exchange>;
}

// The typings only declare the default instance, not the class.
const { MailService } = library as unknown as { MailService: new () => Service };
const { defaultHeaders } = new MailService().client;

/**
 * Each call gets its own service object: the library stores the key in a mutable object, and sharing one could send a
 * tenant's email with another tenant's key. Our client replaces the library's, which uses axios and takes about a quarter
 * of the worker's main-thread time per email.
 */
function createService(client: CarrierClient, context: SendContext<SendgridAccount>): Service {
  const service = new MailService();
  service.setClient({
    request: (request) => {
      const headers = {
        ...defaultHeaders,
        ...request.headers,
        Authorization: `Bearer ${context.account.apikey}`,
      };
      return client.call({ ...request, headers }, context);
    },
  });
  return service;
}

function toSendgrid(message: LoadedEmail): object {
  return {
    from: toSendgridAddress(message.sender),
    personalizations: [
      {
        to: message.recipients.map(toSendgridRecipient),
        ...(message.cc.length > 0 ? { cc: message.cc.map(toSendgridRecipient) } : {}),
        ...(message.bcc.length > 0 ? { bcc: message.bcc.map(toSendgridRecipient) } : {}),
      },
    ],
    subject: message.subject,
    content: [
      // The carrier requires this order.
      ...(message.text === undefined ? [] : [{ type: 'text/plain', value: message.text }]),
      { type: 'text/html', value: message.html },
    ],
    ...toSendgridReplyTo(message.replyTo ?? []),
    ...toSendgridHeaders(message),
    ...(message.categories ? { categories: message.categories } : {}),
    ...(message.loaded.length > 0 ? { attachments: message.loaded.map(toSendgridAttachment) } : {}),
    customArgs: labelsOf(message),
  };
}

const toSendgridAttachment = ({ filename, mimetype, base64, contentId }: LoadedAttachment): object => ({
  content: base64,
  filename,
  type: attachmentType(mimetype),
  // The library does not convert property names within attachments.
  ...(contentId === undefined
    ? { disposition: 'attachment' }
    : { disposition: 'inline', content_id: contentId }),
});

function toSendgridReplyTo(addresses: readonly Address[]): object {
  const [first, ...others] = addresses.map(toSendgridAddress);
  if (!first) return {};
  return others.length === 0 ? { replyTo: first } : { replyToList: [first, ...others] };
}

/** The carrier accepts a Message-ID and puts it into the email; encoding is up to us. */
function toSendgridHeaders({ headers = {}, messageId }: EmailMessage): object {
  const encoded = encodeHeaders({
    ...headers,
    ...(messageId === undefined ? {} : { 'Message-ID': messageId }),
  });
  return encoded ? { headers: encoded } : {};
}

/** SendGrid takes a comma or semicolon in a recipient's name for the end of an address, and drops the email, unless the name is in quotes. */
const toSendgridRecipient = ({ email, name }: Address): object =>
  toSendgridAddress({ email, name: name === '' || isPlainName(name) ? name : quoteName(name) });

const toSendgridAddress = ({ email, name }: Address): object => (name === '' ? { email } : { email, name });
