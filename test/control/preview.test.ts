import { expect } from 'chai';
import { partOf } from '../support/fakeProvider.js';
import { codeOf, at, type Json } from '../api/webFixture.js';
import { pipelineConfig, startPipeline } from '../delivery/pipelineSetup.js';
import { waitFor } from '../support/waitFor.js';
import { ORDER, QUERY, Shop, TABLES } from './emailShop.js';

describe('roles_pbac: preview_email', () => {
  let shop: Shop;
  before(async () => {
    shop = await Shop.open();
  });
  after(() => shop.close());

  it('shows the email of a row as it is now, and what each query returned', async () => {
    expect(await shop.previewed({ type: await shop.createType(), ...ORDER })).to.deep.equal({
      subject: 'Order 7 insert orders',
      html: '<p>Ada &lt;A&gt;: 12.50</p>',
      sender: 'Shop <shop@example.com>',
      recipients: ['"Ada <A>" <ada@example.com>', 'Copy@example.com'],
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      queries: [
        {
          outvar: 'orders',
          result: [
            {
              id: '7',
              status: 'paid',
              total: 12.5,
              customer: { name: 'Ada <A>', email: 'ada@example.com' },
            },
          ],
          error: null,
        },
      ],
      error: null,
    });
  });

  it('matches what a delivery of the same change sends, exactly', async () => {
    const type = await shop.createType();
    const made = await shop.fixture.control(
      shop.root,
      'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }',
      {
        input: {
          name: type,
          email_type: type,
          operations: ['update'],
          targets: ['orders'],
          query_roleid: shop.tenant.rootRoleid,
        },
      },
    );
    expect(made.errors).to.equal(undefined);
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: shop.provider.url });
    const { engine, templates, principals, testDatabase } = shop.fixture;
    const pipeline = await startPipeline(testDatabase.database, config, { engine, templates, principals });
    try {
      const before = shop.provider.calls.length;
      await shop.fixture.graphql(
        '/query',
        shop.root,
        'mutation { update_orders(id: 8, line: 1, input: { status: "sent" }) { id } }',
      );
      await waitFor('the email', () => shop.provider.calls.length > before);
      const { body } = shop.provider.calls[before]!;
      const shown = await shop.previewed({
        type,
        target: 'orders',
        key: { id: 8, line: 1 },
        operation: 'update',
      });
      expect([shown['subject'], shown['html']]).to.deep.equal([body.subject, partOf(body)]);
      const written = body.personalizations[0]!.to.map(({ name, email }) =>
        name === undefined ? email : `${name} <${email}>`,
      );
      expect(shown['recipients']).to.deep.equal(written);
    } finally {
      await pipeline.stop();
    }
  });

  it('puts the row under old or new as the operation does', async () => {
    const type = await shop.createPlainType({ subject: '{{ records.old.text }}/{{ records.new.text }}' });
    const subject = async (operation: string): Promise<unknown> =>
      (await shop.previewed({ type, target: 'note', key: 1, operation }))['subject'];
    expect(await subject('insert')).to.equal('/plain');
    expect(await subject('update')).to.equal('plain/plain');
    expect(await subject('delete')).to.equal('plain/');
    expect(codeOf(await shop.preview({ type, target: 'note', key: 1, operation: 'drop' }))).to.equal(
      'EMAIL_OPERATION_UNKNOWN',
    );
  });

  it('prints every digit of numerics, from records and queries, and calculates exactly', async () => {
    const fields = '{{ x.amount }} {{ x.amount * 3 }} {{ x.rate }} {{ x.weight }} {{ x.steps|sum }}';
    const type = await shop.createType({
      recipients: ['a@example.com'],
      subject: `{% set x = records.new %}${fields}`,
      template: `{% for x in prices %}${fields};{% endfor %} {{ prices|sum(attribute='amount') }} {{ found.sum[0].sum }}`,
      queries: [
        { query: '{ price(ordering: "id") { amount rate weight steps } }', outvar: 'prices' },
        { query: '{ Aggregates { sum(subquery: "{ price { amount } }") } }', outvar: 'found' },
      ],
    });
    const first = '10.00 30.00 0.00000000 10 3.30';
    const second = '1234567890123456789.50 3703703670370370368.50 0.50000000 10.5 3';
    const preview = await shop.previewed({ type, target: 'price', key: 2 });
    expect(preview['error']).to.equal(null);
    expect(preview['subject']).to.equal(second);
    expect(preview['html']).to.equal(`${first};${second}; 1234567890123456799.50 1234567890123456799.50`);
    expect(JSON.stringify(preview['queries'])).not.to.include('E0');
  });

  it('accepts a context instead of a row', async () => {
    const type = await shop.createType({ template: '{{ greeting }} {{ orders[0].status }} {{ base_url }}' });
    const context = {
      records: { new: { id: 8 } },
      greeting: 'Hi',
      base_url: 'https://evil.example',
      orders: 'given way',
    };
    const shown = await shop.previewed({ type, context, target: 'orders', operation: 'upload' });
    expect(shown['error']).to.equal(null);
    expect(shown['subject']).to.equal('Order 8 upload orders');
    expect(shown['html']).to.match(/^Hi \w+ http:\/\/localhost/);
    expect(shown['recipients']).to.deep.equal(['Bob <bob@example.com>', 'Copy@example.com']);
    const inline = await shop.fixture.control(
      shop.root,
      `{ Utility { preview_email(email_type: "${type}", context: { records: { new: { id: 8 } } }) { html: subject } } }`,
    );
    expect(at(inline, 'data.Utility.preview_email')).to.deep.equal({ html: 'Order 8 insert None' });
  });

  it('shows failed and successful queries side by side', async () => {
    const bad = 'query ($ordering: [String]) { orders(ordering: $ordering) { id } }';
    const type = await shop.createType({
      queries: [
        { query: QUERY, filter: 'id = 7', outvar: 'orders' },
        // What a statement of a template writes is only known when it is rendered.
        { query: QUERY, filter: '{% if true %}sum = {% endif %}{{ records.new.id }}', outvar: 'second' },
        { query: bad, ordering: ['nothing'], outvar: 'third' },
      ],
    });
    const shown = await shop.previewed({ type, ...ORDER });
    expect(shown).to.include({ subject: null, html: null, recipients: null });
    expect(shown['error']).to.include({
      code: 'FILTER_UNKNOWN_COLUMN',
      field: 'queries[1].filter',
      line: 1,
    });
    expect(at(shown, 'error.hint')).to.be.a('string');
    expect(at(shown, 'queries.0.result.0.id')).to.equal('7');
    expect(at(shown, 'queries.1')).to.deep.include({ outvar: 'second', result: null });
    expect(at(shown, 'queries.1.error')).to.match(/^query "second": /);
    expect(at(shown, 'queries.2.error')).to.match(/nothing/);
  });

  it('reports line and column of a failing template, with the query results', async () => {
    const type = await shop.createType({ template: '<p>\n  {{ orders[0].id }} {{ 1 / 0 }}</p>' });
    const shown = await shop.previewed({ type, ...ORDER });
    expect(shown['error']).to.include({ code: 'TEMPLATE_FAILED', field: 'template', line: 2 });
    expect(at(shown, 'error.column')).to.be.greaterThan(1);
    expect(at(shown, 'queries.0.result.0.id')).to.equal('7');
    const noOne = await shop.previewed({ type: await shop.createType({ recipients: ['nobody'] }), ...ORDER });
    expect(noOne['error']).to.include({ code: 'NO_VALID_RECIPIENT', field: 'recipients' });
    expect(noOne['subject'], 'the rest of the email').to.be.a('string').and.not.equal('');
    expect(noOne['html']).to.be.a('string').and.not.equal('');
  });

  it('limits an endless template as a delivery does', async () => {
    const type = await shop.createPlainType({
      template: '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}',
    });
    const shown = await shop.previewed({ type, context: {} });
    expect(shown['error']).to.include({ code: 'TEMPLATE_FAILED', field: 'template' });
  });

  it('keeps data inside its filter literal', async () => {
    const notes = (filter: string): Promise<string> =>
      shop.createPlainType({
        queries: [
          { query: 'query ($filter: String) { note(filter: $filter) { id } }', filter, outvar: 'notes' },
        ],
      });
    const quoted = await shop.previewed({
      type: await notes("text = '{{ records.new.text }}'"),
      target: 'note',
      key: 2,
    });
    expect(at(quoted, 'queries.0.result')).to.deep.equal([{ id: '2' }]);
    const bare = await shop.previewed({
      type: await notes('id = {{ records.new.text }}'),
      target: 'note',
      key: '3',
    });
    expect(bare['error']).to.include({ code: 'TEMPLATE_FAILED', field: 'queries[0].filter' });
    expect(bare['queries']).to.deep.equal([]);
  });

  it('runs queries with the rights of the given role', async () => {
    const type = await shop.createType();
    const asClerk = await shop.previewed({ type, ...ORDER, role: shop.clerk.roleid });
    expect(asClerk['error']).to.include({ code: 'PERMISSION_DENIED', field: 'queries[0].query' });
    const other = await shop.fixture.createTenant('other');
    for (const role of [other.rootRoleid, 999_999]) {
      expect(codeOf(await shop.preview({ type, ...ORDER, role })), String(role)).to.equal('UNKNOWN_ROLE');
    }
  });

  it("is for administrators of the email type's tenant", async () => {
    const type = await shop.createType();
    expect(codeOf(await shop.preview({ type, ...ORDER }, shop.clerk.token))).to.equal('PERMISSION_DENIED');
    const other = await shop.fixture.createTenant('third', TABLES);
    const stranger = (await shop.fixture.signIn(other.tenantid)).access_token;
    expect(codeOf(await shop.preview({ type, ...ORDER }, stranger))).to.equal('NOT_FOUND');
  });

  it('reports invalid arguments', async () => {
    const type = await shop.createPlainType();
    const code = async (variables: Json): Promise<unknown> =>
      codeOf(await shop.preview({ type, ...variables }));
    expect(await code({})).to.equal('BAD_USER_INPUT');
    expect(await code({ ...ORDER, context: {} })).to.equal('BAD_USER_INPUT');
    expect(await code({ context: 'text' })).to.equal('BAD_USER_INPUT');
    expect(await code({ context: { records: { new: [1] } } })).to.equal('BAD_USER_INPUT');
    expect(await code({ target: 'orders', key: 7 })).to.equal('BAD_USER_INPUT');
    expect(await code({ target: 'note', key: 'one' })).to.equal('BAD_USER_INPUT');
    expect(await code({ target: 'note', key: 99 })).to.equal('NOT_FOUND');
    expect(await code({ target: 'nothing', key: 1 })).to.equal('UNKNOWN_TABLE');
  });

  it('writes nothing', async () => {
    const { pool } = shop.fixture.testDatabase.database;
    const count = async (): Promise<unknown> =>
      (
        await pool.query(`select (select count(*) from rowpost.outbox) as events,
          (select count(*) from rowpost.email_delivery) as deliveries, (select count(*) from rowpost.mailbox) as emails`)
      ).rows;
    const [before, calls] = [await count(), shop.provider.calls.length];
    await shop.previewed({ type: await shop.createType(), ...ORDER });
    expect([await count(), shop.provider.calls.length]).to.deep.equal([before, calls]);
  });

  describe('of a draft', () => {
    const DRAFT = `query ($type: ID, $input: email_typesInput, $target: String, $key: GenericScalar, $role: Int) {
      Utility { preview_email(email_type: $type, input: $input, target: $target, key: $key, query_roleid: $role) {
        subject html recipients error { code field message line column hint } } } }`;
    const WHOLE = {
      template: '<p>{{ records.new.text }}</p>',
      subject: 'Note {{ records.new.id }}',
      recipients: ['a@example.com'],
      sender: 'shop@example.com',
    };
    const NOTE = { target: 'note', key: 1 };
    const ask = (variables: Json, token = shop.root) => shop.fixture.control(token, DRAFT, variables);
    const shown = async (variables: Json): Promise<Json> => {
      const result = await ask({ ...NOTE, ...variables });
      expect(result.errors).to.equal(undefined);
      return at(result, 'data.Utility.preview_email') as Json;
    };

    it('shows an unsaved email type, or changes to a saved one', async () => {
      expect(await shown({ input: WHOLE })).to.include({ subject: 'Note 1', html: '<p>plain</p>' });
      const type = await shop.createPlainType({ subject: 'Saved', template: 'as saved' });
      const changed = await shown({ type, input: { subject: 'Changed' } });
      expect(changed).to.include({ subject: 'Changed', html: 'as saved' });
      expect(await shown({ type })).to.include({ subject: 'Saved' });
    });

    it('reports the errors saving would report', async () => {
      const error = async (changes: Json): Promise<unknown> =>
        (await shown({ input: { ...WHOLE, ...changes } }))['error'];
      expect(await error({ template: '<p>\n{{ records.new.text | nope }}' })).to.include({
        code: 'TEMPLATE_SYNTAX',
        field: 'template',
        line: 2,
      });
      expect(await error({ sender: 'nobody' })).to.include({ code: 'BAD_USER_INPUT', field: 'sender' });
      expect(await error({ recipients: [] })).to.include({ code: 'BAD_USER_INPUT', field: 'recipients' });
      expect(await error({ queries: [{ query: '{ nothing { id } }', outvar: 'x' }] })).to.include({
        field: 'queries[0].query',
      });
      expect(await error({ subject: null })).to.include({ code: 'BAD_USER_INPUT', field: 'subject' });
    });

    it('is for administrators, runs with the rights of the given role, and saves nothing', async () => {
      expect(codeOf(await ask({ input: WHOLE, ...NOTE }, shop.clerk.token))).to.equal('PERMISSION_DENIED');
      expect(codeOf(await ask(NOTE))).to.equal('BAD_USER_INPUT');
      const input = { ...WHOLE, queries: [{ query: '{ note { id } }', outvar: 'notes' }] };
      expect((await shown({ input, role: shop.clerk.roleid }))['error']).to.include({
        code: 'PERMISSION_DENIED',
        field: 'queries[0].query',
      });
      const saved = await shop.fixture.control(
        shop.root,
        `{ email_types(filter: "email_type = 'draft'") { email_type } }`,
      );
      expect(at(saved, 'data.email_types')).to.deep.equal([]);
    });
  });
});
