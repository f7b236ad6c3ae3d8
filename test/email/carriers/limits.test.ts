import { expect } from 'chai';
import { exceedsLimits, type EmailLimits } from '../../../src/email/carriers/limits.js';
import type { EmailMessage } from '../../../src/email/carriers/sending.js';

const ADA = { email: 'ada@example.com', name: '' };
const EMAIL: EmailMessage = {
  tenantid: 1,
  deliveryid: '1',
  sender: ADA,
  recipients: [ADA],
  cc: [],
  bcc: [],
  subject: 'Hello',
  html: '<img src="cid:logo">',
  replyTo: [ADA, { ...ADA, email: 'bob@example.com' }],
  attachments: [
    { filename: 'logo.png', mimetype: 'image/png', size: 4, objectkey: 'a', contentId: 'logo' },
    { filename: 'a.txt', mimetype: 'text/plain', size: 4, objectkey: 'b' },
  ],
};
const LIMITS: EmailLimits = {
  maxRecipients: 1,
  maxBytes: 10_000,
  allowsUtf8Addresses: false,
  allowsEmptyFiles: false,
};

describe("email: a carrier's limits on one email", () => {
  for (const [what, limits, email, expected] of [
    ['none of them', {}, {}, undefined],
    ['reply-to addresses', { maxReplyTo: 1 }, {}, '2 reply-to addresses; the carrier takes 1'],
    ['as many reply-to addresses', { maxReplyTo: 2 }, {}, undefined],
    ['inline files', { allowsInlineFiles: false }, {}, '"logo.png" is shown within the email'],
    ['other files', { allowsInlineFiles: false }, { attachments: EMAIL.attachments?.slice(1) }, undefined],
  ] as const) {
    it(`${what}: ${expected ?? 'sent'}`, () => {
      const outcome = exceedsLimits({ ...EMAIL, ...email } as EmailMessage, { ...LIMITS, ...limits });
      if (expected === undefined) expect(outcome).to.equal(undefined);
      else {
        expect(outcome).to.include({ kind: 'rejected', code: 'EMAIL_NOT_SUPPORTED' });
        expect(outcome).to.have.property('message').that.includes(expected);
      }
    });
  }
});
