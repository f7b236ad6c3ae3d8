import { expect } from 'chai';
import MailComposer from 'nodemailer/lib/mail-composer';
import { addressEmail } from '../../../src/email/addressEmail.js';
import { fieldsOf } from '../../../src/email/emailFields.js';
import type { LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { toMime } from '../../../src/email/message/mime.js';
import { cpuTimer } from '../../support/cpuTime.js';

/** What a template may render to. */
const MAX_CHARACTERS = 2_000_000;

const EMAIL: LoadedEmail = {
  tenantid: 1,
  deliveryid: '5',
  sender: { email: 'shop@example.com', name: '' },
  recipients: [{ email: 'ada@example.com', name: '' }],
  cc: [],
  bcc: [],
  subject: 'News',
  html: '',
  loaded: [],
};

describe('attack: emails that take a worker long to put together', () => {
  it('with a million lines', async () => {
    const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
      const ms = cpuTimer();
      await work();
      return ms();
    };
    const text = '\nx'.repeat(MAX_CHARACTERS / 2);
    const ended = text.replaceAll('\n', '\r\n');
    const named = { from: 'shop@example.com', to: 'ada@example.com', subject: 'News' };
    const bare: number[] = [];
    const ours: number[] = [];
    for (let runs = 0; runs < 5; runs++) {
      bare.push(
        await cpuMs(() => new MailComposer({ ...named, text: ended, html: ended }).compile().build()),
      );
      ours.push(await cpuMs(() => toMime({ ...EMAIL, html: text, text })));
    }
    // The ends of lines are a small part of it. With the composer's option `newline` they took 1.4 to 2.4 times the rest.
    expect(Math.min(...ours) / Math.min(...bare)).to.be.below(1.7);
  });

  it('with a subject of two million characters', () => {
    const type = { template: '', sender: 'shop@example.com', recipients: ['ada@example.com'] };
    const fields = fieldsOf({
      ...type,
      subject: 'x'.repeat(MAX_CHARACTERS),
      queries: [],
      options: {},
    } as never);
    expect(() => addressEmail(fields, ({ source }) => source)).to.throw('more than 10000 characters');
  });
});
