import { expect } from 'chai';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import { toMime } from '../../src/email/message/mime.js';

/** What a client may write into a column: some servers take CR for the end of a line, and the dot for that of the email. */
const FORGED = 'MAIL FROM:<ceo@example.com>\rRCPT TO:<bank@example.com>\rDATA\rPay.\r.\r';

describe('attack: emails smuggled into another email', () => {
  const headerEnds = /\r\n\r\n/;

  for (const [what, data] of [
    ['after CR', `Hello\r.\r${FORGED}`],
    ['after CR, before CR LF', `Hello\r.\r\n${FORGED}`],
    ['after LF', `Hello\n.\r${FORGED}`],
    ['in a text that is encoded', `Grüße\r.\r${FORGED}`],
  ] as const) {
    it(`are no lines of their own: ${what}`, async () => {
      const email: LoadedEmail = {
        tenantid: 1,
        deliveryid: '5',
        sender: { email: 'shop@example.com', name: 'Shop' },
        recipients: [{ email: 'ada@example.com', name: '' }],
        cc: [],
        bcc: [],
        subject: 'News',
        text: data,
        html: `<p>${data}</p>`,
        loaded: [],
      };
      const message = (await toMime(email)).toString('latin1');
      expect(message).to.match(headerEnds).and.include('RCPT TO');
      expect(message).to.not.match(/\r(?!\n)|(?<!\r)\n/);
    });
  }
});
