import { expect } from 'chai';
import { at, type GraphqlResult, type Json } from '../api/webFixture.js';
import { codeOf, Shop } from './emailShop.js';

const CREATE = `mutation ($input: email_typesInput) { create_email_type(input: $input) {
  text preheader reply_to headers categories } }`;

describe('roles_pbac: the parts of a letter', () => {
  let shop: Shop;
  let types = 0;
  before(async () => {
    shop = await Shop.open();
  });
  after(() => shop.close());

  const create = (changes: Json): Promise<GraphqlResult> =>
    shop.fixture.control(shop.root, CREATE, {
      input: {
        email_type: `letter_${++types}`,
        template: 'T',
        subject: 'S',
        sender: 'a@example.com',
        recipients: ['b@example.com'],
        ...changes,
      },
    });
  const fieldOf = (result: GraphqlResult): unknown => result.errors?.[0]?.extensions['field'];

  it('are left out by default, and shown as they were given', async () => {
    expect(at(await create({}), 'data.create_email_type')).to.deep.equal({
      text: null,
      preheader: null,
      reply_to: null,
      headers: {},
      categories: [],
    });
    const parts = {
      text: 'none',
      preheader: 'Hello {{ records.new.id }}',
      reply_to: 'Help <help@example.com>, {{ records.new.id }}@example.com',
      headers: { 'List-ID': '<news.example.com>', 'X-Order': '{{ records.new.id }}' },
      categories: ['orders', '{{ target }}'],
    };
    expect(at(await create(parts), 'data.create_email_type')).to.deep.equal(parts);
    expect(at(await create({ headers: '{"X-Order": "1"}' }), 'data.create_email_type.headers')).to.deep.equal(
      { 'X-Order': '1' },
    );
    const blank = { text: ' ', preheader: '', reply_to: '' };
    expect(at(await create(blank), 'data.create_email_type')).to.include({
      text: null,
      preheader: null,
      reply_to: null,
    });
  });

  it('are compiled when the type is saved', async () => {
    for (const [field, value] of [
      ['text', '{{ a'],
      ['preheader', '{{ a'],
      ['reply_to', '{{ a'],
      ['headers.X-A', { 'X-A': '{{ a' }],
      ['categories[1]', ['ok', '{{ a']],
    ] as const) {
      const result = await create({ [field.replace(/[.[].*/, '')]: value });
      expect([codeOf(result), fieldOf(result)]).to.deep.equal(['TEMPLATE_SYNTAX', field]);
    }
  });

  it('take no headers that are not the author’s to set, whatever their case', async () => {
    const names = [
      ...['From', 'to', 'CC', 'Bcc', 'Subject', 'Date', 'Message-ID', 'Reply-To', 'Sender', 'Return-Path'],
      ...[
        'Content-Type',
        'content-transfer-encoding',
        'MIME-Version',
        'DKIM-Signature',
        'ARC-Seal',
        'Received',
      ],
      ...['List-Unsubscribe', 'List-Unsubscribe-Post', 'X-SMTPAPI', 'x-sg-eid', 'X-SES-Configuration-Set'],
      ...[
        'X-Mailgun-Variables',
        '',
        'X-',
        'X-A:',
        'X-A\r\nBcc',
        'X-A ',
        'X-Ä',
        `X-${'a'.repeat(61)}`,
        '__proto__',
      ],
    ];
    for (const name of names) {
      const headers = JSON.stringify(Object.fromEntries([[name, 'x']]));
      expect(codeOf(await create({ headers })), JSON.stringify(name)).to.equal('BAD_USER_INPUT');
    }
  });

  it('are one line where they are headers, and within the limits', async () => {
    const bad: readonly Json[] = [
      { headers: { 'X-A': 'a\r\nBcc: eve@example.com' } },
      { headers: { 'X-A': '{% if x %}\n{% endif %}' } },
      { headers: { 'X-A': 'a\0' } },
      { headers: { 'X-A': 7 } },
      { headers: { 'X-A': null } },
      { headers: ['X-A'] },
      { headers: 'X-A: 1' },
      { headers: { 'X-A': '1', 'x-a': '2' } },
      { headers: { 'X-A': 'a'.repeat(999) } },
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`X-${index}`, ''])) },
      { categories: Array.from({ length: 11 }, (_, index) => `c${index}`) },
      { categories: [null] },
      { reply_to: 'nobody' },
      { reply_to: 'a@example.com, nobody' },
    ];
    for (const parts of bad) {
      expect(codeOf(await create(parts)), JSON.stringify(parts)).to.equal('BAD_USER_INPUT');
    }
  });
});
