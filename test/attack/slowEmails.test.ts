import { expect } from 'chai';
import { addressEmail } from '../../src/email/addressEmail.js';
import { fieldsOf } from '../../src/email/emailFields.js';
import type { LoadedEmail } from '../../src/email/carriers/carrier.js';
import { toMime } from '../../src/email/message/mime.js';

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
  it('with a million lines instead of one', async () => {
    const cpuMs = async (text: string): Promise<number> => {
      const times: number[] = [];
      for (let runs = 0; runs < 3; runs++) {
        const before = process.cpuUsage();
        await toMime({ ...EMAIL, html: text, text });
        const { user, system } = process.cpuUsage(before);
        times.push((user + system) / 1000);
      }
      return Math.min(...times);
    };
    const oneMs = await cpuMs('x'.repeat(MAX_CHARACTERS));
    // It was 6.
    expect((await cpuMs('\nx'.repeat(MAX_CHARACTERS / 2))) / oneMs).to.be.below(5);
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
