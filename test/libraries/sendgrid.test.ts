import sendgrid from '@sendgrid/mail';
import { contractOf } from './contract.js';

const must = contractOf('@sendgrid/mail');

interface Service {
  readonly client?: { readonly defaultHeaders?: Readonly<Record<string, string>> };
  setClient?(client: { request(request: Readonly<Record<string, unknown>>): Promise<unknown> }): void;
  send(data: object): Promise<unknown>;
}

describe('private parts of @sendgrid/mail', () => {
  it('`MailService`: `client.defaultHeaders`, `setClient`', async () => {
    const { MailService } = sendgrid as unknown as { MailService?: new () => Service };
    must(typeof MailService === 'function', 'the default export no longer has the class MailService');
    const service = new MailService!();
    must(
      typeof service.client?.defaultHeaders?.['User-Agent'] === 'string',
      "MailService's client no longer has defaultHeaders",
    );
    must(typeof service.setClient === 'function', 'MailService no longer has setClient');
    const requests: Readonly<Record<string, unknown>>[] = [];
    const response = {};
    service.setClient!({
      request(request) {
        requests.push(request);
        return Promise.resolve(response);
      },
    });
    const result = await service.send({
      from: 'me@example.com',
      to: 'you@example.com',
      subject: 'one',
      html: 'text',
    });
    must(result === response, "send no longer resolves to the result of its client's request");
    const [{ method, url, body } = {}] = requests;
    must(
      method === 'POST' && url === '/v3/mail/send' && typeof body === 'object',
      `send calls its client with something else: ${JSON.stringify(requests)}`,
    );
  });
});
