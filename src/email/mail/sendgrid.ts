import sendgrid from '@sendgrid/mail';
import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Address } from '../addresses.js';
import { AttachmentLoader, type LoadedAttachment } from './attachmentLoader.js';
import { bytesOf, MAX_MAIL_BYTES } from './mailSize.js';
import { encodeHeader } from './encodedWords.js';
import { newExchange, ProviderClient, type Exchange, type ProviderRequest } from './providerClient.js';
import { readExchange } from './sendgridAnswer.js';
import type { MailMessage, MailTransport, SendContext, SendOutcome } from './transport.js';

/** Domains are ASCII already, as punycode. */
const IS_ASCII = /^[ -~]*$/;
/** The provider's limit. */
const MAX_RECIPIENTS = 1_000;

export interface SendgridOptions {
  readonly baseUrl: string;
  /** Source of attachments; closed with the transport. Without it, mails have none. */
  readonly storage?: FileStorage;
}

/** Sends through @sendgrid/mail. */
export function createSendgridTransport(options: SendgridOptions): MailTransport {
  const loader = options.storage && new AttachmentLoader(options.storage);
  const client = new ProviderClient(options.baseUrl);
  return {
    needsApiKey: true,
    async send(message, context) {
      const tooLarge = exceedsLimits(message);
      if (tooLarge) return tooLarge;
      const { attachments = [] } = message;
      if (!loader || attachments.length === 0) return call(client, message, [], context);
      return loader.with(attachments, (loaded) => call(client, message, loaded, context));
    },
    async close() {
      client.close();
      await options.storage?.close();
    },
  };
}

async function call(
  client: ProviderClient,
  message: MailMessage,
  attachments: readonly LoadedAttachment[],
  context: SendContext,
): Promise<SendOutcome> {
  const service = createService(client, context);
  const exchange = await service.send(toSendgrid(message, attachments)).catch(newExchange);
  return readExchange(exchange, context.apiKey);
}

interface Service {
  readonly client: { readonly defaultHeaders: Readonly<Record<string, string>> };
  setClient(client: { request(request: ProviderRequest): Promise<Exchange> }): void;
  /** @returns the result of its client's request */
  send(data: object): Promise<Exchange>;
}

// The typings declare the default instance only; the class is beside it.
const { MailService } = sendgrid as unknown as { MailService: new () => Service };
const { defaultHeaders } = new MailService().client;

/**
 * Each call gets its own service object: the library keeps the key in a mutable object, and a shared one has sent a
 * tenant's mail with another tenant's key. Our client replaces the library's, which uses axios and takes about a quarter
 * of the worker's main-thread time per mail.
 */
function createService(client: ProviderClient, context: SendContext): Service {
  const service = new MailService();
  service.setClient({
    request: (request) => {
      const headers = { ...defaultHeaders, ...request.headers, Authorization: `Bearer ${context.apiKey}` };
      return client.call({ ...request, headers }, context);
    },
  });
  return service;
}

function toSendgrid(message: MailMessage, attachments: readonly LoadedAttachment[]): object {
  return {
    from: toSendgridAddress(message.sender),
    personalizations: [
      {
        to: message.recipients.map(toSendgridAddress),
        ...(message.cc.length > 0 ? { cc: message.cc.map(toSendgridAddress) } : {}),
        ...(message.bcc.length > 0 ? { bcc: message.bcc.map(toSendgridAddress) } : {}),
      },
    ],
    subject: message.subject,
    content: [
      // The provider wants them in this order.
      ...(message.text === undefined ? [] : [{ type: 'text/plain', value: message.text }]),
      { type: 'text/html', value: message.html },
    ],
    ...toSendgridReplyTo(message.replyTo ?? []),
    ...toSendgridHeaders(message),
    ...(message.categories ? { categories: message.categories } : {}),
    ...(attachments.length > 0 ? { attachments: attachments.map(toSendgridAttachment) } : {}),
    customArgs: {
      ...(message.deliveryid === null ? {} : { deliveryid: message.deliveryid }),
      tenantid: String(message.tenantid),
    },
  };
}

const toSendgridAttachment = ({ filename, mimetype, base64, contentId }: LoadedAttachment): object => ({
  content: base64,
  filename,
  type: mimetype,
  // The library leaves the names within attachments as they are.
  ...(contentId === undefined
    ? { disposition: 'attachment' }
    : { disposition: 'inline', content_id: contentId }),
});

function toSendgridReplyTo(addresses: readonly Address[]): object {
  const [first, ...others] = addresses.map(toSendgridAddress);
  if (!first) return {};
  return others.length === 0 ? { replyTo: first } : { replyToList: [first, ...others] };
}

/** The provider takes a Message-ID, and puts it into the mail; it leaves encoding to us. */
function toSendgridHeaders({ headers = {}, messageId }: MailMessage): object {
  const all = { ...headers, ...(messageId === undefined ? {} : { 'Message-ID': messageId }) };
  const encoded = Object.entries(all).map(([name, value]) => [name, encodeHeader(value)] as const);
  return encoded.length === 0 ? {} : { headers: Object.fromEntries(encoded) };
}

const toSendgridAddress = ({ email, name }: Address): object => (name === '' ? { email } : { email, name });

function exceedsLimits(message: MailMessage): SendOutcome | undefined {
  const recipients = message.recipients.length + message.cc.length + message.bcc.length;
  if (recipients > MAX_RECIPIENTS) {
    return rejected('TOO_MANY_RECIPIENTS', `${recipients} recipients; the provider takes ${MAX_RECIPIENTS}`);
  }
  const { sender, replyTo = [] } = message;
  const foreign = [sender, ...replyTo, ...message.recipients, ...message.cc, ...message.bcc].find(
    ({ email }) => !IS_ASCII.test(email),
  );
  if (foreign) {
    const what = `"${foreign.email}" has characters beyond ASCII before the @, which the provider does not take`;
    return rejected('ADDRESS_NOT_ASCII', what);
  }
  const bytes = bytesOf(message);
  if (bytes > MAX_MAIL_BYTES) {
    return rejected('MAIL_TOO_LARGE', `the mail has ${bytes} bytes; the provider takes ${MAX_MAIL_BYTES}`);
  }
  return undefined;
}

function rejected(code: string, message: string): SendOutcome {
  return { kind: 'rejected', httpStatus: null, code, message };
}
