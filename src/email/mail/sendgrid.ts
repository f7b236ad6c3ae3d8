import http from 'node:http';
import https from 'node:https';
import sendgrid from '@sendgrid/mail';
import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Address } from '../addresses.js';
import { AttachmentLoader, type LoadedAttachment } from './attachmentLoader.js';
import { bytesOf, MOST_MAIL_BYTES } from './mailSize.js';
import { readAnswer, readFailure, type Exchange } from './sendgridAnswer.js';
import type { MailMessage, MailTransport, SendContext, SendOutcome } from './transport.js';

const MAX_SOCKETS = 256;
/** An answer is a few hundred bytes. */
const MOST_ANSWER_BYTES = 256 * 1024;
/** The provider's limit. */
const MOST_RECIPIENTS = 1_000;

export interface SendgridOptions {
  readonly baseUrl: string;
  /** Where attachments are read; closed with the transport. Without it mails have none. */
  readonly storage?: FileStorage;
}

/**
 * Sends through @sendgrid/mail. Each call has a service object of its own: the library keeps key, address, deadline
 * and the rest in one mutable object, and a shared one has sent a tenant's mail with another tenant's key.
 */
export function createSendgridTransport(options: SendgridOptions): MailTransport {
  const loader = options.storage && new AttachmentLoader(options.storage);
  const agents = {
    httpAgent: new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
    httpsAgent: new https.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS }),
  };
  return {
    needsApiKey: true,
    async send(message, context) {
      const tooLarge = exceedsLimits(message);
      if (tooLarge) return tooLarge;
      const { attachments = [] } = message;
      if (!loader || attachments.length === 0) return call(message, [], context);
      return loader.with(attachments, (loaded) => call(message, loaded, context));
    },
    async close() {
      agents.httpAgent.destroy();
      agents.httpsAgent.destroy();
      await options.storage?.close();
    },
  };

  async function call(
    message: MailMessage,
    attachments: readonly LoadedAttachment[],
    context: SendContext,
  ): Promise<SendOutcome> {
    const exchange: Exchange = { begun: false, fenced: false, status: undefined, headers: {} };
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), context.deadlineMs);
    try {
      const service = createService(context.apiKey, {
        baseUrl: options.baseUrl,
        ...agents,
        signal: deadline.signal,
        transport: watchedTransport(options.baseUrl, exchange, context.mayStart),
        // A redirect would carry the key and the mail to wherever it points.
        maxRedirects: 0,
        maxContentLength: MOST_ANSWER_BYTES,
        proxy: false,
      });
      const [response] = await service.send(toSendgrid(message, attachments));
      return readAnswer(response.statusCode, response.headers as Record<string, unknown>, response.body);
    } catch (error) {
      return readFailure(error, exchange, {
        apiKey: context.apiKey,
        deadlinePassed: deadline.signal.aborted,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

interface Service {
  client: { setDefaultHeader(name: string, value: string): void; setDefaultRequest(values: object): void };
  send(data: object): Promise<[{ statusCode: number; headers: unknown; body: unknown }, unknown]>;
}

// The typings declare the default instance only; the class is beside it.
const { MailService } = sendgrid as unknown as { MailService: new () => Service };

function createService(apiKey: string, request: object): Service {
  const service = new MailService();
  // Not setApiKey: it would also reset the base URL, and print a line for keys of unusual form.
  service.client.setDefaultHeader('Authorization', `Bearer ${apiKey}`);
  service.client.setDefaultRequest(request);
  return service;
}

/**
 * The HTTP client as axios sees it, watched: whether anything may have left, and the status as soon as it is there.
 * Both decide what a broken exchange means.
 */
function watchedTransport(baseUrl: string, exchange: Exchange, mayStart: SendContext['mayStart']) {
  const client = baseUrl.startsWith('https:') ? https : http;
  const ready = client === https ? 'secureConnect' : 'connect';
  return {
    request(options: https.RequestOptions, onResponse: (response: http.IncomingMessage) => void) {
      if (!mayStart()) {
        exchange.fenced = true;
        throw new Error('the attempt is no longer ours');
      }
      const request = client.request(options, (response) => {
        exchange.status = response.statusCode;
        exchange.headers = response.headers;
        onResponse(response);
      });
      request.once('socket', (socket) => {
        const begin = (): void => {
          exchange.begun = true;
        };
        if (request.reusedSocket || !socket.connecting) begin();
        else socket.once(ready, begin);
      });
      return request;
    },
  };
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
    content: [{ type: 'text/html', value: message.html }],
    ...(attachments.length > 0 ? { attachments: attachments.map(toSendgridAttachment) } : {}),
    customArgs: {
      ...(message.deliveryid === null ? {} : { deliveryid: message.deliveryid }),
      tenantid: String(message.tenantid),
    },
  };
}

const toSendgridAttachment = ({ filename, mimetype, base64 }: LoadedAttachment): object => ({
  content: base64,
  filename,
  type: mimetype,
  disposition: 'attachment',
});

const toSendgridAddress = ({ email, name }: Address): object => (name === '' ? { email } : { email, name });

function exceedsLimits(message: MailMessage): SendOutcome | undefined {
  const recipients = message.recipients.length + message.cc.length + message.bcc.length;
  if (recipients > MOST_RECIPIENTS) {
    return rejected('TOO_MANY_RECIPIENTS', `${recipients} recipients; the provider takes ${MOST_RECIPIENTS}`);
  }
  const bytes = bytesOf(message);
  if (bytes > MOST_MAIL_BYTES) {
    return rejected('MAIL_TOO_LARGE', `the mail has ${bytes} bytes; the provider takes ${MOST_MAIL_BYTES}`);
  }
  return undefined;
}

function rejected(code: string, message: string): SendOutcome {
  return { kind: 'rejected', httpStatus: null, code, message };
}
