import { expect } from 'chai';
import { simpleParser } from 'mailparser';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import type { CarrierDefinition } from '../../src/email/carriers/carrier.js';
import { postmark } from '../../src/email/carriers/postmark/postmark.js';
import { resend } from '../../src/email/carriers/resend/resend.js';
import { sendgrid } from '../../src/email/carriers/sendgrid/sendgrid.js';
import { openCarrier } from '../support/openCarrier.js';
import { toMime } from '../../src/email/message/mime.js';
import { startFakeApi } from '../support/fakeApi.js';
import { watchEventLoop } from '../support/loopBlocks.js';

/** What whoever may upload a file declares it to be: it has no signature, so the declaration counts. */
const COMPOSITE = ['message/rfc822', 'message/delivery-status', 'Message/global', 'multipart/mixed'];

const withFile = (mimetype: string, content: Buffer): LoadedEmail => ({
  tenantid: 1,
  deliveryid: '5',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [{ email: 'ada@example.com', name: '' }],
  cc: [],
  bcc: [],
  subject: 'News',
  html: '<p>News</p>',
  loaded: [
    {
      filename: 'news.eml',
      mimetype,
      size: content.length,
      objectkey: '1/aa/aa',
      base64: content.toString('base64'),
    },
  ],
});

describe('attack: attached files that are messages', () => {
  for (const mimetype of COMPOSITE) {
    it(`are encoded like any other file: ${mimetype}`, async () => {
      const content = Buffer.from('Hello\r.\rMAIL FROM:<ceo@example.com>\rDATA\r\0Pay.\r.\r\n--x--\n');
      const message = await toMime(withFile(mimetype, content));
      expect(message.toString('latin1')).to.not.match(/MAIL FROM|\0|\r(?!\n)|(?<!\r)\n/);
      const [file] = (await simpleParser(message)).attachments;
      expect(file?.content).to.deep.equal(content);
      expect(file?.filename).to.equal('news.eml');
    });
  }

  it('arrive as they are, whatever their lines, through carriers that take JSON too', async () => {
    const content = Buffer.from(`From: a\r\n\r\n${'x'.repeat(2_000)}\r\xff\xfe\0\n.\n`, 'latin1');
    const email = withFile('multipart/mixed', content);
    const raw = (await toMime(email)).toString('latin1');
    expect(raw).not.to.match(/[^\r\n\t -~]/);
    expect(Math.max(...raw.split('\r\n').map(({ length }) => length))).to.be.at.most(998);
    const [file] = (await simpleParser(Buffer.from(raw, 'latin1'))).attachments;
    expect(file?.content).to.deep.equal(content);

    const api = await startFakeApi();
    api.reply = () => ({ status: 200, body: {} });
    const options = { deadlineMs: 5_000, mayStart: () => true };
    for (const definition of [sendgrid, postmark, resend] as readonly CarrierDefinition[]) {
      const carrier = openCarrier(definition, api.url);
      await carrier.send(email, { ...options, account: { kind: definition.kind, apikey: 'k' } });
      carrier.close();
    }
    const types = api.calls.map(
      ({ body }) => /"(?:type|ContentType|content_type)":"([^"]*\/(?:oct|mul)[^"]*)"/.exec(String(body))?.[1],
    );
    await api.stop();
    expect(types).to.deep.equal(Array.from({ length: 3 }, () => 'application/octet-stream'));
  });

  it('do not hold the process up by the number of their lines', async () => {
    const longestMs = watchEventLoop();
    await toMime(withFile('message/rfc822', Buffer.alloc(10_000_000, '\n')));
    // It took 8 s.
    expect(longestMs()).to.be.below(2_000);
  });
});
