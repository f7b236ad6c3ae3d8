import { expect } from 'chai';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import { formatAddress } from '../../src/email/addresses.js';
import { renderAddresses, type RenderedAddresses } from '../email/renderedAddresses.js';

const REFUSED = 'NO_VALID_RECIPIENT';

describe('attack: data that sends an email to an address other than the template says', () => {
  let pool: TemplatePool;
  before(() => (pool = createTemplatePool({ processes: 1 })));
  after(() => pool.close());

  const recipientsOf = async (
    recipients: string | readonly string[],
    data: Readonly<Record<string, unknown>>,
    more: object = {},
  ): Promise<string[] | string> => {
    const rendered = await renderAddresses(pool, { recipients: recipients, ...more }, data);
    return typeof rendered === 'string' ? rendered : rendered.recipients.map(formatAddress);
  };

  it('by ending the address before its domain', async () => {
    const template = '{{ n }}@trusted.example';
    for (const n of [
      'evil@evil.example;',
      'evil@evil.example,',
      'evil@evil.example, x',
      'x <evil@evil.example>, y',
    ]) {
      expect(await recipientsOf([template], { n }), n).to.equal(REFUSED);
      expect(await recipientsOf(JSON.stringify([template]), { n }), n).to.equal(REFUSED);
    }
    expect(await recipientsOf([template], { n: 'ada' })).to.deep.equal(['ada@trusted.example']);
  });

  it('by ending the host within its domain', async () => {
    for (const n of ['evil.example/', 'evil.example#', 'evil.example?', 'evil.example\\', 'evil.example%2f'])
      expect(await recipientsOf(['orders@{{ n }}.trusted.example'], { n }), n).to.equal(REFUSED);
    expect(await recipientsOf(['{{ n }}'], { n: 'evil@ex%61mple.com' })).to.equal(REFUSED);
    expect(await recipientsOf(['orders@{{ n }}.trusted.example'], { n: 'eu' })).to.deep.equal([
      'orders@eu.trusted.example',
    ]);
  });

  it('by a name that is an address, before a comma of the template', async () => {
    const template = '{{ last }}, {{ first }} <orders@trusted.example>';
    expect(await recipientsOf([template], { last: 'evil@evil.example', first: 'x' })).to.equal(REFUSED);
    expect(await recipientsOf([template], { last: 'Lovelace', first: 'Ada' })).to.deep.equal([
      '"Lovelace, Ada" <orders@trusted.example>',
    ]);
  });

  it('by brackets, a group or the @ in a part of the address', async () => {
    for (const [template, n] of [
      ['<{{ n }}>', 'a@trusted.example> <evil@evil.example'],
      ['<{{ n }}@trusted.example>', 'evil@evil.example> <x'],
      ['{{ n }}@trusted.example', 'team:ada'],
      ['{{ n }}@trusted.example', '=?utf-8?q?evil=40evil.example=3E?='],
      ['{{ n }}.trusted.example', 'evil@evil.example#'],
      ['{{ n }}trusted.example', 'evil@evil.un'],
      ['To {{ n }}', 'x <evil@evil.example>'],
    ] as const)
      expect(await recipientsOf([template], { n }), template).to.equal(REFUSED);
  });

  it('by the same text in an included layout', async () => {
    const layouts = { address: '{{ n }}@trusted.example' };
    const include = ["{% include 'address' %}"];
    expect(await recipientsOf(include, { n: 'evil@evil.example;' }, { layouts })).to.equal(REFUSED);
    expect(await recipientsOf(include, { n: 'ada' }, { layouts })).to.deep.equal(['ada@trusted.example']);
  });

  it('as the sender, or where replies go', async () => {
    const template = '{{ n }}@trusted.example';
    const data = { n: 'evil@evil.example;' };
    expect(await renderAddresses(pool, { sender: template }, data)).to.equal('SENDER_INVALID');
    expect(await renderAddresses(pool, { reply_to: template }, data)).to.equal('REPLY_TO_INVALID');
    const named = await renderAddresses(
      pool,
      { sender: '{{ n }} <orders@trusted.example>', reply_to: '{{ n }} <orders@trusted.example>' },
      { n: 'x <evil@evil.example>, "' },
    );
    const { sender, replyTo } = named as RenderedAddresses;
    expect([sender, ...replyTo].map(({ email }) => email)).to.deep.equal([
      'orders@trusted.example',
      'orders@trusted.example',
    ]);
  });
});
