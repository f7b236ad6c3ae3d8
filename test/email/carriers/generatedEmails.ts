import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import type { Address } from '../../../src/email/addresses.js';
import type { Account } from '../../../src/email/carriers/account.js';
import type { CarrierDefinition, LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { exceedsLimits } from '../../../src/email/carriers/limits.js';
import { brevo } from '../../../src/email/carriers/brevo/brevo.js';
import { mailgun } from '../../../src/email/carriers/mailgun/mailgun.js';
import { postmark } from '../../../src/email/carriers/postmark/postmark.js';
import { resend } from '../../../src/email/carriers/resend/resend.js';
import { sendgrid } from '../../../src/email/carriers/sendgrid/sendgrid.js';
import { ses } from '../../../src/email/carriers/ses/ses.js';
import { smtp } from '../../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../../support/openCarrier.js';
import { CARRIERS } from '../../../src/email/carriers/allCarriers.js';
import { toMime } from '../../../src/email/message/mime.js';
import { startFakeApi, type ApiCall, type FakeApi } from '../../support/fakeApi.js';
import { startFakeSmtp, type FakeSmtp } from '../../support/fakeSmtp.js';
import { itWithPython } from '../../support/python.js';
import { CARRIER_RULES, type Request } from './carrierRules.js';
import { randomEmails } from './randomEmail.js';
import {
  addressesIn,
  expectedOf,
  inAscii,
  readByMailparser,
  readByPython,
  wordsOf,
  type ReadEmail,
} from './readMime.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const DKIM = { domain: 'example.com', selector: 'key', privateKey };

/** Each email through every carrier is what was asked for, or is refused with a reason. */
export function testGeneratedEmails(seed: number, count: number): void {
  describe(`email: generated ones through every carrier (SEED=${seed})`, function () {
    this.timeout(600_000 + 1_000 * count);
    const next = randomEmails(seed);
    const emails = Array.from({ length: count }, next);
    let api: FakeApi;
    let server: FakeSmtp;
    const opened: { close(): void }[] = [];
    const sentBy = new Set<string>();

    before(async () => {
      api = await startFakeApi();
      api.reply = () => ({ status: 200, body: {} });
      server = await startFakeSmtp({ disabledCommands: ['STARTTLS'] });
    });
    after(async () => {
      for (const each of opened) each.close();
      await api.stop();
      await server.stop();
    });

    /** Sends all emails. @param check what the carrier must have received of each that it takes */
    async function sendAll<A extends Account>(
      definition: CarrierDefinition<A>,
      account: A,
      check: (email: LoadedEmail) => void | Promise<void>,
    ): Promise<void> {
      sentBy.add(definition.kind);
      const carrier = openCarrier(definition, api.url);
      opened.push(carrier);
      for (const [index, email] of emails.entries()) {
        const refused = exceedsLimits({ ...email, attachments: email.loaded }, definition.limits);
        const outcome =
          refused ?? (await carrier.send(email, { account, deadlineMs: 30_000, mayStart: () => true }));
        if (outcome.kind === 'rejected') {
          const isEmpty = email.loaded.some(({ size }) => size === 0);
          const { maxReplyTo = Infinity, allowsInlineFiles = true } = definition.limits;
          const isUnsupported =
            (email.replyTo ?? []).length > maxReplyTo ||
            (!allowsInlineFiles && email.loaded.some(({ contentId }) => contentId !== undefined));
          if (hasUtf8Address(email)) expect(outcome.code).to.equal('ADDRESS_NOT_ASCII');
          else if (outcome.code === 'EMAIL_NOT_SUPPORTED') expect(isUnsupported).to.equal(true);
          else expect(isEmpty, `email ${index}: ${outcome.message}`).to.equal(true);
          continue;
        }
        expect(outcome, `email ${index}`).to.include({ kind: 'sent' });
        try {
          await check(email);
        } catch (error) {
          if (error instanceof Error) error.message = `email ${index}: ${error.message}`;
          throw error;
        }
      }
    }

    /** What its carrier publishes about requests. */
    function requireRules(carrier: keyof typeof CARRIER_RULES, request: Request): void {
      for (const rule of CARRIER_RULES[carrier])
        for (const value of rule.values(request))
          expect(rule.holds(value), `${rule.says}: ${JSON.stringify(value)}`).to.equal(true);
    }

    async function checkMessage(raw: Buffer, email: LoadedEmail): Promise<void> {
      const text = raw.toString('latin1');
      expect(text).not.to.match(/\r(?!\n)|(?<!\r)\n|\0/);
      expect(Math.max(...text.split('\r\n').map(({ length }) => length))).to.be.at.most(998);
      if (!hasUtf8Address(email)) expect(text).not.to.match(/[^\r\n\t -~]/);
      const expected = expectedOf(email);
      const files = expected.files.map((file) => ({ ...file, type: null }));
      expect(comparable(await readByMailparser(raw), email)).to.deep.equal(
        comparable({ ...expected, files, headers: null }, email),
      );
    }

    it('SMTP, signed with DKIM', async () => {
      const account = {
        kind: 'smtp',
        host: '127.0.0.1',
        port: server.port,
        security: 'none',
        verifyCertificate: false,
        maxConnections: 1,
        dkim: DKIM,
      } as const;
      const resolver = (name: string): Promise<string[][]> =>
        name === 'key._domainkey.example.com'
          ? Promise.resolve([[`v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`]])
          : Promise.reject(new Error(name));
      await sendAll(smtp, account, async (email) => {
        const { from, to, raw } = server.emails.at(-1)!;
        expect(inAscii(from)).to.equal(email.sender.email);
        expect(to).to.deep.equal(recipientsOf(email));
        const { results } = await dkimVerify(raw, { resolver });
        expect(results.map(({ status }) => status.result)).to.deep.equal(['pass']);
        await checkMessage(raw, email);
      });
    });

    it('Amazon SES', async () => {
      const account = {
        kind: 'ses',
        accessKeyId: 'A',
        secretAccessKey: 's',
        region: 'eu-central-1',
      } as const;
      await sendAll(ses, account, async (email) => {
        const request = bodyOf(api);
        requireRules('ses', request);
        const { Content, Destination } = request as {
          Content: { Raw: { Data: string } };
          Destination: Record<string, string[]>;
        };
        expect(Object.values(Destination).flat()).to.deep.equal(recipientsOf(email));
        await checkMessage(Buffer.from(Content.Raw.Data, 'base64'), email);
      });
    });

    it('Mailgun', async () => {
      const account = { kind: 'mailgun', apikey: 'k', domain: 'mg.example.com', region: 'us' } as const;
      await sendAll(mailgun, account, async (email) => {
        const form = await formOf(api.calls.at(-1)!);
        requireRules('mailgun', { to: form.getAll('to'), tags: form.getAll('o:tag') });
        expect(form.getAll('to')).to.deep.equal(recipientsOf(email));
        await checkMessage(Buffer.from(await (form.get('message') as Blob).arrayBuffer()), email);
      });
    });

    after('every carrier was tried', () => {
      expect([...sentBy]).to.have.members(CARRIERS.map(({ kind }) => kind));
    });

    itWithPython('as messages that Python reads', async () => {
      const messages = await Promise.all(emails.map(async (email) => ({ email, raw: await toMime(email) })));
      for (const [index, { defects, ...read }] of readByPython(messages).entries()) {
        const { email } = messages[index]!;
        const expected = comparable(expectedOf(email), email);
        expect(comparable(read, email), `message ${index}`).to.deep.equal(expected);
        expect(defects, `message ${index}`).to.deep.equal([]);
      }
    });

    it('SendGrid', async () => {
      const account = { kind: 'sendgrid', apikey: 'k' } as const;
      await sendAll(sendgrid, account, (email) => {
        const request = bodyOf(api);
        requireRules('sendgrid', request);
        const body = request as unknown as SendgridBody;
        const [{ to, cc = [], bcc = [] }] = body.personalizations;
        const { 'Message-ID': id, ...headers } = body.headers;
        expect(id).to.equal(email.messageId);
        expect(bcc.map(unquoted)).to.deep.equal(email.bcc);
        expect(body.categories ?? []).to.deep.equal(email.categories);
        expect({
          from: [named(body.from)],
          to: to.map(unquoted),
          cc: cc.map(unquoted),
          replyTo: (body.reply_to_list ?? [body.reply_to ?? []].flat()).map(named),
          subject: body.subject,
          html: body.content.at(-1)!.value,
          text: body.content.length > 1 ? body.content[0]!.value : null,
          headers: decoded(headers),
          files: (body.attachments ?? []).map((file) => ({
            filename: file.filename,
            type: file.type,
            cid: file.content_id ?? null,
            base64: file.content,
          })),
        }).to.deep.equal({ ...expectedOf(email), html: email.html, text: email.text ?? null });
      });
    });

    it('Postmark', async () => {
      const account = { kind: 'postmark', apikey: 'k' } as const;
      await sendAll(postmark, account, async (email) => {
        const request = bodyOf(api);
        requireRules('postmark', request);
        const body = request as unknown as PostmarkBody;
        expect(await addressesIn(body.Bcc ?? '')).to.deep.equal(email.bcc);
        const headers = Object.fromEntries(body.Headers.map(({ Name, Value }) => [Name, Value]));
        const { 'Message-ID': id, 'X-PM-KeepID': keeps, ...others } = headers;
        expect([id, keeps]).to.deep.equal([email.messageId, 'true']);
        expect({
          from: await addressesIn(body.From),
          to: await addressesIn(body.To),
          cc: await addressesIn(body.Cc ?? ''),
          replyTo: await addressesIn(body.ReplyTo ?? ''),
          subject: body.Subject,
          html: body.HtmlBody,
          text: body.TextBody ?? null,
          headers: decoded(others),
          files: (body.Attachments ?? []).map((file) => ({
            filename: file.Name,
            type: file.ContentType,
            cid: file.ContentID?.replace(/^cid:/, '') ?? null,
            base64: file.Content,
          })),
        }).to.deep.equal({ ...expectedOf(email), html: email.html, text: email.text ?? null });
      });
    });

    it('Brevo', async () => {
      await sendAll(brevo, { kind: 'brevo', apikey: 'k' }, (email) => {
        const request = bodyOf(api);
        requireRules('brevo', request);
        const body = request as unknown as BrevoBody;
        const read = ({ email: address, name = '' }: Named): Address => ({
          email: address,
          name: wordsOf(name),
        });
        const { 'X-Mailin-custom': labels = '', ...headers } = body.headers;
        expect(JSON.parse(labels)).to.deep.equal({
          ...(email.deliveryid === null ? {} : { deliveryid: email.deliveryid }),
          tenantid: String(email.tenantid),
        });
        expect((body.bcc ?? []).map(read)).to.deep.equal(email.bcc);
        expect(body.tags ?? []).to.deep.equal(email.categories);
        const { files, ...expected } = expectedOf(email);
        expect({
          from: [read(body.sender)],
          to: body.to.map(read),
          cc: (body.cc ?? []).map(read),
          replyTo: [body.replyTo ?? []].flat().map(read),
          subject: body.subject,
          html: body.htmlContent,
          text: body.textContent ?? null,
          headers: decoded(headers),
        }).to.deep.equal({ ...expected, html: email.html, text: email.text ?? null });
        expect((body.attachment ?? []).map(({ name, content }) => [name, content])).to.deep.equal(
          files.map(({ filename, base64 }) => [filename, base64]),
        );
      });
    });

    it('Resend', async () => {
      const account = { kind: 'resend', apikey: 'k' } as const;
      await sendAll(resend, account, async (email) => {
        const request = bodyOf(api);
        requireRules('resend', request);
        const body = request as unknown as ResendBody;
        const each = async (texts: readonly string[] = []): Promise<Address[]> =>
          (await Promise.all(texts.map(addressesIn))).flat();
        expect(await each(body.bcc)).to.deep.equal(email.bcc);
        expect({
          // Resend refuses a name in quotes here, with a reason, and has no other way for it.
          from: body.from.startsWith('"') ? [email.sender] : await addressesIn(body.from),
          to: await each(body.to),
          cc: await each(body.cc),
          replyTo: await each(body.reply_to),
          subject: body.subject,
          html: body.html,
          text: body.text === '' ? null : body.text,
          headers: decoded(body.headers),
          files: (body.attachments ?? []).map((file) => ({
            filename: file.filename,
            type: file.content_type,
            cid: file.content_id ?? null,
            base64: file.content,
          })),
        }).to.deep.equal({ ...expectedOf(email), html: email.html, text: email.text ?? null });
      });
    });
  });
}

interface BrevoBody {
  readonly sender: Named;
  readonly to: readonly Named[];
  readonly cc?: readonly Named[];
  readonly bcc?: readonly Named[];
  readonly replyTo?: Named;
  readonly subject: string;
  readonly htmlContent: string;
  readonly textContent?: string;
  readonly headers: Record<string, string>;
  readonly tags?: readonly string[];
  readonly attachment?: readonly { readonly name: string; readonly content: string }[];
}

interface SendgridBody {
  readonly from: Named;
  readonly personalizations: readonly [
    { readonly to: Named[]; readonly cc?: Named[]; readonly bcc?: Named[] },
  ];
  readonly reply_to?: Named;
  readonly reply_to_list?: Named[];
  readonly subject: string;
  readonly content: readonly { readonly value: string }[];
  readonly headers: Record<string, string>;
  readonly categories?: readonly string[];
  readonly attachments?: readonly { filename: string; type: string; content_id?: string; content: string }[];
}

interface PostmarkBody {
  readonly From: string;
  readonly To: string;
  readonly Cc?: string;
  readonly Bcc?: string;
  readonly ReplyTo?: string;
  readonly Subject: string;
  readonly HtmlBody: string;
  readonly TextBody?: string;
  readonly Headers: readonly { readonly Name: string; readonly Value: string }[];
  readonly Attachments?: readonly {
    Name: string;
    ContentType: string;
    ContentID?: string;
    Content: string;
  }[];
}

interface ResendBody {
  readonly from: string;
  readonly to: readonly string[];
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  readonly reply_to?: readonly string[];
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly headers: Record<string, string>;
  readonly attachments?: readonly {
    filename: string;
    content_type: string;
    content_id?: string;
    content: string;
  }[];
}

interface Named {
  readonly email: string;
  readonly name?: string;
}

const named = ({ email, name = '' }: Named): Address => ({ email, name });
/** As a header has it. */
const unquoted = ({ email, name = '' }: Named): Address => ({
  email,
  name: /^".*"$/.test(name) ? name.slice(1, -1).replace(/\\(.)/g, '$1') : name,
});
const decoded = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, wordsOf(value)]));
const bodyOf = (api: FakeApi): Request => JSON.parse(api.calls.at(-1)!.body.toString()) as Request;

async function formOf({ body, headers }: ApiCall): Promise<FormData> {
  const request = new Response(new Uint8Array(body), {
    headers: { 'content-type': headers['content-type'] ?? '' },
  });
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- of servers, for what strangers send
  return request.formData();
}

const recipientsOf = ({ recipients, cc, bcc }: LoadedEmail): string[] =>
  [...recipients, ...cc, ...bcc].map(({ email }) => email);

const hasUtf8Address = ({ sender, recipients, cc, bcc, replyTo = [] }: LoadedEmail): boolean =>
  [sender, ...recipients, ...cc, ...bcc, ...replyTo].some(({ email }) => /[^ -~]/.test(email));

/** Without what differs between libraries: the order of parts, the line end of a single one. */
function comparable(read: ReadEmail, { text, loaded }: LoadedEmail): object {
  const isSinglePart = text === undefined && loaded.length === 0;
  const inPunycode = (list: readonly Address[]): Address[] =>
    list.map(({ email, name }) => ({ email: inAscii(email), name }));
  return {
    ...read,
    from: inPunycode(read.from),
    to: inPunycode(read.to),
    cc: inPunycode(read.cc),
    replyTo: inPunycode(read.replyTo),
    html: isSinglePart ? read.html.replace(/\n$/, '') : read.html,
    files: read.files
      .map(({ filename, type, cid, base64 }) => JSON.stringify([filename, type, cid, base64]))
      .sort(),
  };
}
