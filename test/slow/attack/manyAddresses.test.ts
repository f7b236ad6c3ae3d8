import { expect } from 'chai';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import type { EmailType } from '../../../src/db/email/emailTypes.js';
import { addressEmail } from '../../../src/email/addressEmail.js';
import { parseAddresses, parseOneValue } from '../../../src/email/addresses.js';
import { EmailProblem } from '../../../src/email/email.js';
import { readContent } from '../../../src/email/emailContent.js';
import { fieldsOf } from '../../../src/email/emailFields.js';
import { renderFields } from '../../../src/email/renderFields.js';
import { cpuTimer } from '../../support/cpuTime.js';

const TYPE: EmailType = {
  syntax: 'jinja2',
  template: 'x',
  subject: 'S',
  sender: 'shop@example.com',
  recipients: ['ada@example.com'],
  queries: [],
  options: {},
};
/** 2,000,000 characters, as many as a template may render to. */
const MANY = "{{ 'a@b.co,' * 285000 }}";
/** Reading such a field took 0.35 s of the event loop of all tenants. */
const MAX_MS = 500;

describe('attack: an email type whose addresses are millions', () => {
  let pool: TemplatePool;
  before(() => {
    pool = createTemplatePool({ processes: 1 });
  });
  after(() => pool.close());

  /** @returns the email's problem, and how long its texts took to read */
  async function read(changes: Partial<EmailType>): Promise<readonly [code: string | undefined, ms: number]> {
    const type = { ...TYPE, ...changes };
    const fields = fieldsOf(type);
    const { sender, recipients, cc, replyTo } = fields;
    const all = [sender, ...recipients, ...cc, replyTo];
    const rendered = await renderFields(pool, 1, type, '{}', all);
    const cpuMs = cpuTimer();
    try {
      addressEmail(fields, rendered.textOf);
      readContent(fields, rendered);
      return [undefined, cpuMs()];
    } catch (error) {
      if (!(error instanceof EmailProblem)) throw error;
      return [error.failure.code, cpuMs()];
    }
  }

  for (const [what, recipients] of [
    ['a list', Array<string>(250_000).fill('a')],
    ['one text', `[${'"a",'.repeat(120_000)}"a"]`],
  ] as const) {
    it(`are not read: each short, in ${what}`, async () => {
      const [problem, ms] = await read({ recipients });
      expect(problem).to.equal('TOO_MANY_RECIPIENTS');
      expect(ms).to.be.below(600);
    });
  }

  for (const [what, changes, code] of [
    ['in many recipients', { recipients: Array<string>(2).fill(MANY) }, 'TOO_MANY_RECIPIENTS'],
    ['in other lists', { options: { cc: Array<string>(2).fill(MANY) } }, 'TOO_MANY_RECIPIENTS'],
    ['as the sender', { sender: MANY }, 'SENDER_INVALID'],
    ['to reply to', { reply_to: MANY }, 'REPLY_TO_INVALID'],
  ] as const satisfies readonly (readonly [string, Partial<EmailType>, string])[]) {
    it(`are not read: ${what}`, async () => {
      const [problem, ms] = await read(changes);
      expect(problem).to.equal(code);
      expect(ms).to.be.below(MAX_MS);
    });
  }

  for (const [what, parse] of [
    ['in a text', parseAddresses],
    ['in a value', parseOneValue],
  ] as const) {
    it(`are not read one by one in the name of another address: ${what}`, () => {
      const text = `${'a@é.1,'.repeat(80_000)} <ada@example.com>`;
      const cpuMs = cpuTimer();
      expect(parse(text).valid).to.deep.equal([]);
      expect(cpuMs()).to.be.below(MAX_MS / 4);
      expect(parse(`${'Lovelace, '.repeat(90)} <ada@example.com>`).valid).to.have.length(1);
    });
  }

  for (const piece of ['a,', ',', 'é@é.org;']) {
    it(`are not read one by one, whatever they are: ${piece}`, () => {
      const { valid, invalid } = parseAddresses(piece.repeat(Math.floor(500_000 / piece.length)));
      expect(valid).to.deep.equal([]);
      expect(invalid).to.have.length.at.most(1);
    });
  }

  it('take no longer to read if their domains are slow to encode', () => {
    const letters = Array.from({ length: 480 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 37) % 20_000)),
    );
    const cpuMs = (label: number): number => {
      const domain = letters.map((letter, index) => (index % label === label - 1 ? '.' : letter)).join('');
      const text = Array.from({ length: 900 }, (_, index) => `a${index}@${domain}org`).join();
      const runs = Array.from({ length: 5 }, () => {
        const ms = cpuTimer();
        expect(parseAddresses(text).valid).to.deep.equal([]);
        return ms();
      });
      return Math.min(...runs);
    };
    // Without dots, they took more than twice as long.
    expect(cpuMs(1_000) / cpuMs(15)).to.be.below(1.7);
  });

  it('are read up to a thousand', async () => {
    const address = (index: number): string => `"${'Ada '.repeat(60)}" <ada${index}@example.com>`;
    const recipients = Array.from({ length: 1_000 }, (_, index) => address(index));
    expect((await read({ recipients }))[0]).to.equal(undefined);
  });
});
