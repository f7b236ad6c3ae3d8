import { expect } from 'chai';
import { codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { partOf, type Behavior } from '../support/fakeProvider.js';
import { API_KEY, ORDER, SEND, Shop, TABLES } from './emailShop.js';
import { knexOf } from '../support/knexOf.js';

describe('roles_pbac: send_test_email', () => {
  let shop: Shop;
  before(async () => {
    shop = await Shop.open();
  });
  after(() => shop.close());
  afterEach(() => {
    shop.provider.behave = () => ({ kind: 'accept' });
  });

  const meet = async (behavior: Behavior): Promise<Json> => {
    shop.provider.behave = () => behavior;
    return shop.sent({ type: await shop.createType(), ...ORDER, to: 'me@example.com' });
  };

  it('goes only to the given address, with the tenant’s key', async () => {
    const before = shop.provider.calls.length;
    const result = await shop.sent({ type: await shop.createType(), ...ORDER, to: 'Me <me@example.com>' });
    expect(result).to.deep.equal({
      sent: true,
      provider_message_id: `message-${before + 1}`,
      error: null,
    });
    expect(shop.provider.calls).to.have.length(before + 1);
    const { body, apiKey } = shop.provider.calls[before]!;
    expect(apiKey).to.equal(API_KEY);
    expect(body.personalizations).to.deep.equal([{ to: [{ email: 'me@example.com', name: 'Me' }] }]);
    expect(body.subject).to.equal('[Test] Order 7 insert orders');
    expect(partOf(body)).to.equal('<p>Ada &lt;A&gt;: 12.50</p>');
    expect(body.custom_args).to.deep.equal({ tenantid: String(shop.tenant.tenantid) });
    const { rows } = await shop.fixture.testDatabase.database.pool.query(
      `select from rowpost.email_delivery where subject like '[Test]%'`,
    );
    expect(rows).to.deep.equal([]);
  });

  it("returns the provider's outcome without the key, and pauses nobody", async () => {
    const echo = JSON.stringify({ errors: [{ message: `bad key ${API_KEY}` }] });
    const cases: [Behavior, string][] = [
      [{ kind: 'reply', status: 401, body: echo }, 'APIKEY_REFUSED'],
      [{ kind: 'reply', status: 400, body: echo }, 'CARRIER_400'],
      [{ kind: 'reply', status: 503, body: echo }, 'CARRIER_503'],
      [{ kind: 'reply', status: 429, headers: { 'retry-after': '7' } }, 'RATE_LIMITED'],
      [{ kind: 'hang' }, 'CARRIER_TIMEOUT'],
      [{ kind: 'reset-after' }, 'ECONNRESET'],
    ];
    for (const [behavior, code] of cases) {
      const before = shop.provider.calls.length;
      const result = await meet(behavior);
      expect(result, code).to.include({ sent: false, provider_message_id: null });
      expect(result['error'], code).to.include({ code });
      expect(JSON.stringify(result)).to.not.include('secret-of-the-shop');
      expect(shop.provider.calls, 'tried once').to.have.length(before + 1);
    }
    const { rows } = await shop.fixture.testDatabase.database.pool.query(
      'select paused_code, wait_until from rowpost.email_apikey',
    );
    expect(rows).to.deep.equal([{ paused_code: null, wait_until: null }]);
  });

  it('reaches no suppressed or unsubscribed address', async () => {
    const change = (mutation: string) =>
      shop.fixture.control(shop.root, `mutation { ${mutation} { address } }`);
    await change('create_email_suppression(input: {address: "Gone@Example.com"})');
    await change('create_email_unsubscribe(input: {address: "left@example.com", all_types: true})');
    const before = shop.provider.calls.length;
    const plain = await shop.createPlainType();
    const newsletter = await shop.createPlainType({ unsubscribe: 'type' });
    const send = (type: string, to: string) => shop.sent({ type, to, context: {} });
    expect(await send(plain, 'Gone <gone@EXAMPLE.com>')).to.deep.include({ sent: false });
    expect((await send(plain, 'gone@example.com'))['error']).to.include({ code: 'SUPPRESSED' });
    expect((await send(newsletter, 'left@example.com'))['error']).to.include({ code: 'UNSUBSCRIBED' });
    expect(shop.provider.calls).to.have.length(before);
    // Email without an unsubscribe link, such as a receipt.
    expect(await send(plain, 'left@example.com')).to.include({ sent: true });
  });

  it('uses the provider timeout of deliveries', async () => {
    const { pool } = shop.fixture.testDatabase.database;
    await pool.query(`update rowpost.email_apikey set wait_until = now() + interval '1 minute'`);
    try {
      const before = shop.provider.calls.length;
      expect((await meet({ kind: 'accept' }))['error']).to.include({ code: 'RATE_LIMITED' });
      expect(shop.provider.calls).to.have.length(before);
    } finally {
      await pool.query('update rowpost.email_apikey set wait_until = null');
    }
  });

  it('sends nothing when the email can’t be rendered', async () => {
    const before = shop.provider.calls.length;
    const type = await shop.createType({ subject: '{{ 1 / 0 }}' });
    const result = await shop.sent({ type, ...ORDER, to: 'me@example.com' });
    expect(result['error']).to.include({ code: 'TEMPLATE_FAILED', field: 'subject', line: 1 });
    for (const to of ['a@example.com, b@example.com', 'nobody', '', 'a@example.com\r\nBcc: b@example.com']) {
      expect(codeOf(await shop.send({ type: await shop.createType(), ...ORDER, to })), to).to.equal(
        'BAD_USER_INPUT',
      );
    }
    expect(shop.provider.calls).to.have.length(before);
  });

  it('requires a key, an administrator, POST, and a request of its own', async () => {
    const before = shop.provider.calls.length;
    const type = await shop.createType();
    const variables = { type, ...ORDER, to: 'me@example.com' };
    expect(codeOf(await shop.send(variables, shop.clerk.token))).to.equal('PERMISSION_DENIED');
    const field = `send_test_email(email_type: "${type}", context: {}, to: "me@example.com") { sent }`;
    for (const document of [
      `mutation { Utility { a: ${field} b: ${field} } }`,
      `mutation { Utility { ${field} } delete_email_type(email_type: "${type}") { email_type } }`,
      `mutation { ...F } fragment F on Mutation { Utility { ${field} } }`,
    ]) {
      expect(codeOf(await shop.fixture.control(shop.root, document)), document).to.equal('BAD_USER_INPUT');
    }
    const url = new URLSearchParams({ query: `mutation { Utility { ${field} } }` });
    const byGet = await shop.fixture.fetch(`/roles_pbac?${url.toString()}`, {
      headers: { authorization: `Bearer ${shop.root}` },
    });
    expect(codeOf((await byGet.json()) as GraphqlResult)).to.equal('METHOD_NOT_ALLOWED');

    const other = await shop.fixture.createTenant('keyless', TABLES);
    const keyless = (await shop.fixture.signIn(other.tenantid)).access_token;
    expect(codeOf(await shop.send(variables, keyless))).to.equal('EMAIL_APIKEY_MISSING');
    expect(shop.provider.calls).to.have.length(before);
  });

  it('goes to the local mailbox if that is the carrier', async () => {
    const local = await WebFixture.start();
    try {
      const { tenantid } = await local.createTenant('local', TABLES);
      const token = (await local.signIn(tenantid)).access_token;
      await local.control(token, 'mutation { set_email_apikey(apikey: "SG.x") { apikey } }');
      const type = {
        email_type: 't',
        template: 'T',
        subject: 'S',
        sender: 'a@b.org',
        recipients: ['c@d.org'],
      };
      await local.control(
        token,
        'mutation ($i: email_typesInput) { create_email_type(input: $i) { email_type } }',
        { i: type },
      );
      for (const n of [1, 2]) {
        const result = await local.control(token, SEND, { type: 't', context: {}, to: `me${n}@example.com` });
        expect(textAt(result, 'data.Utility.send_test_email.provider_message_id')).to.match(/^mailbox-/);
      }
      const emails = await knexOf(local.testDatabase.database)('rowpost.mailbox')
        .select('deliveryid', 'recipients', 'subject')
        .orderBy('mailid');
      expect(emails).to.deep.equal([
        { deliveryid: null, recipients: ['me1@example.com'], subject: '[Test] S' },
        { deliveryid: null, recipients: ['me2@example.com'], subject: '[Test] S' },
      ]);
    } finally {
      await local.stop();
    }
  });
});
