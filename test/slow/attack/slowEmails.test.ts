import { expect } from 'chai';
import MailComposer from 'nodemailer/lib/mail-composer';
import { addressEmail } from '../../../src/email/addressEmail.js';
import { EmailProblem } from '../../../src/email/email.js';
import { readContent } from '../../../src/email/emailContent.js';
import { fieldsOf, type EmailField } from '../../../src/email/emailFields.js';
import type { LoadedEmail } from '../../../src/email/carriers/carrier.js';
import { toMime } from '../../../src/email/message/mime.js';
import { cpuTimer } from '../../support/cpuTime.js';

/** What a template may render to. */
const MAX_CHARACTERS = 2_000_000;

/** To read an email, during which no other is sent. Making one space of each of a million took up to half a second. */
const MAX_MS = 100;

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

  it('with two million characters in any field, whatever they are', () => {
    const fields = fieldsOf({
      syntax: 'jinja2',
      template: 'x',
      text: 'x',
      preheader: 'x',
      subject: 'x',
      sender: 'shop@example.com',
      recipients: ['ada@example.com'],
      reply_to: 'shop@example.com',
      headers: { 'X-A': 'x' },
      categories: ['x'],
      queries: [],
      options: { cc: ['grace@example.com'], bcc: ['joan@example.com'] },
    });
    const all = Object.values(fields)
      .flat()
      .filter((field): field is EmailField => field !== undefined);
    expect(all).to.have.length(11);
    const slow: Record<string, number> = {};
    for (const { name } of all) {
      for (const repeated of ['a ', '&<', ' \n', '\\"', 'a,', '\u{1f600}', '\u0001']) {
        const long = repeated.repeat(MAX_CHARACTERS / repeated.length);
        const textOf = (field: EmailField): string => (field.name === name ? long : field.source);
        const cpuMs = cpuTimer();
        try {
          addressEmail(fields, textOf);
          readContent(fields, { textOf, plainTextOf: () => 'x' });
        } catch (error) {
          if (!(error instanceof EmailProblem)) throw error;
        }
        const ms = cpuMs();
        if (ms > MAX_MS) slow[`${name}: ${JSON.stringify(repeated)}`] = ms;
      }
    }
    expect(slow).to.deep.equal({});
  });
});
