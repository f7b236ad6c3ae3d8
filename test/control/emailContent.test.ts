import { expect } from 'chai';
import { codeOf, at, type GraphqlResult, type Json } from '../api/webFixture.js';
import { partOf } from '../support/fakeProvider.js';
import { Shop } from './emailShop.js';

const CREATE = `mutation ($input: email_typesInput) { create_email_type(input: $input) {
  text preheader reply_to headers categories } }`;

describe('roles_pbac: the parts of an email', () => {
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

  it('are omitted by default, and returned as given', async () => {
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

  const PARTS = {
    template: '<body><p>{{ records.new.text }}</p></body>',
    preheader: 'Soon: {{ records.new.text }}',
    reply_to: 'Note {{ records.new.id }} <note@bücher.example>',
    headers: { 'X-Note': '{{ records.new.text }}', 'List-ID': '<notes.example.com>' },
    categories: ['notes', '{{ target }}'],
  };
  const PREVIEW = `query ($type: ID!, $context: GenericScalar) { Utility {
    preview_email(email_type: $type, context: $context) {
      html text reply_to headers categories warnings { code field } error { code field } } } }`;
  const preview = async (type: string, text: string): Promise<Json> => {
    const context = { records: { new: { id: 1, text } }, target: 'note' };
    const result = await shop.fixture.control(shop.root, PREVIEW, { type, context });
    return at(result, 'data.Utility.preview_email') as Json;
  };

  it('take a list of addresses in brackets, and say so', async () => {
    const context = { records: { new: { list: ['ada@example.com', 'bob@example.com'] } } };
    const query = `query ($type: ID!, $context: GenericScalar) { Utility {
      preview_email(email_type: $type, context: $context) { recipients error { code hint } } } }`;
    const to = async (recipients: readonly string[]) => {
      const type = await shop.createPlainType({ recipients });
      return at(
        await shop.fixture.control(shop.root, query, { type, context }),
        'data.Utility.preview_email',
      );
    };
    expect(await to(['[{{ records.new.list }}]'])).to.deep.include({ recipients: context.records.new.list });
    expect(await to(['{{ records.new.list }}'])).to.deep.include({
      error: { code: 'NO_VALID_RECIPIENT', hint: 'Write [{{ list }}] for a list of addresses.' },
    });
  });

  it('look the same in previews, test emails and deliveries', async () => {
    const type = await shop.createPlainType(PARTS);
    expect(await preview(type, 'Grüße <1>')).to.deep.equal({
      html:
        '<body><div style="display:none;max-height:0;overflow:hidden;mso-hide:all">Soon: Grüße &lt;1&gt;</div>' +
        '<p>Grüße &lt;1&gt;</p></body>',
      text: 'Grüße <1>',
      reply_to: ['Note 1 <note@xn--bcher-kva.example>'],
      headers: {
        'Auto-Submitted': 'auto-generated',
        'X-Note': 'Grüße <1>',
        'List-ID': '<notes.example.com>',
      },
      categories: ['notes', 'note'],
      warnings: [],
      error: null,
    });
    expect(await shop.sent({ type, target: 'note', key: 1, to: 'eva@example.com' })).to.include({
      sent: true,
    });
    const { body } = shop.provider.calls.at(-1)!;
    expect(partOf(body, 'text/plain')).to.equal('plain');
    expect(body).to.deep.include({
      reply_to: { email: 'note@xn--bcher-kva.example', name: 'Note 1' },
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Note': 'plain', 'List-ID': '<notes.example.com>' },
      categories: ['notes', 'note'],
    });
    const clipped = await preview(await shop.createPlainType(PARTS), 'x'.repeat(102_000));
    expect(clipped['error']).to.deep.equal({ code: 'HEADER_INVALID', field: 'headers.X-Note' });
    const long = await shop.createPlainType({ ...PARTS, headers: {} });
    expect((await preview(long, 'x'.repeat(102_000)))['warnings']).to.deep.equal([
      { code: 'HTML_CLIPPED', field: 'template' },
    ]);
  });

  it('let no row value add a header, an address or markup', async () => {
    const type = await shop.createPlainType({
      ...PARTS,
      reply_to: '{{ records.new.text }} <note@example.com>',
      categories: ['{{ records.new.text }}'],
    });
    for (const text of ['a\r\nBcc: eve@example.com', 'a\nb', 'a\u0085b']) {
      const { error } = await preview(type, text);
      expect(error, JSON.stringify(text)).to.deep.equal({ code: 'HEADER_INVALID', field: 'headers.X-Note' });
    }
    const shown = await preview(type, 'x" <eve@example.com>, y</div><script>');
    expect(shown['reply_to']).to.have.length(1);
    expect((shown['reply_to'] as string[])[0]).to.match(/ <note@example\.com>$/);
    expect(shown['html']).not.to.include('<script>');
    const open = await shop.createPlainType({ reply_to: '{{ records.new.text }}' });
    expect((await preview(open, 'nobody'))['error']).to.deep.equal({
      code: 'REPLY_TO_INVALID',
      field: 'reply_to',
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

  it('reject reserved headers, in any case', async () => {
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

  it('are single-line where they are headers, and bounded', async () => {
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
