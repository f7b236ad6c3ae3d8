import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createMailgun } from '../../src/email/carriers/mailgun/mailgun.js';
import { createPostmark } from '../../src/email/carriers/postmark/postmark.js';
import { createResend } from '../../src/email/carriers/resend/resend.js';
import { createSendgrid } from '../../src/email/carriers/sendgrid/sendgrid.js';
import { createSes } from '../../src/email/carriers/ses/ses.js';
import { createSmtp } from '../../src/email/carriers/smtp/smtp.js';

const URL_OF_NOBODY = 'https://carrier.example/';
const CARRIERS = {
  SendGrid: createSendgrid(URL_OF_NOBODY),
  SMTP: createSmtp({ smtpAllowPrivateNetwork: false, hostname: 'rowpost.example' }),
  'Amazon SES': createSes(URL_OF_NOBODY),
  Resend: createResend(URL_OF_NOBODY),
  Postmark: createPostmark(URL_OF_NOBODY),
  Mailgun: createMailgun({ us: URL_OF_NOBODY, eu: URL_OF_NOBODY }),
};

describe('docs/reference/limits.md', () => {
  after(() => Object.values(CARRIERS).forEach((carrier) => carrier.close()));

  it('has the limits of every carrier', () => {
    const page = readFileSync(new URL('../../docs/reference/limits.md', import.meta.url), 'utf8');
    const rows = Object.entries(CARRIERS).map(([name, { limits }]) => {
      const { maxRecipients, maxBytes, allowsUtf8Addresses } = limits;
      const [recipients, megabytes] = [maxRecipients, maxBytes / 1_000_000].map((n) =>
        n.toLocaleString('en'),
      );
      return `| ${name} | ${recipients} | ${megabytes} MB | ${allowsUtf8Addresses ? 'yes' : 'no'} |`;
    });
    const [, section = ''] = /^## Emails$(.*?)^Files are sent/ms.exec(page) ?? [];
    const written = section.split('\n').filter((line) => /^\| (?!Carrier|---)/.test(line));
    expect(written).to.deep.equal(rows);
  });
});
