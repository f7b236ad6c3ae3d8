import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { variantNames } from '../../src/email/variantNames.js';
import { at, WebFixture, type Json } from '../api/webFixture.js';
import { partOf, startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import { pipelineConfig, startPipeline, type Pipeline } from './pipelineSetup.js';

const TABLES = `
  create table customer (id int primary key, email text, language text);
  create table orders (id int primary key, customer_id int references customer, total numeric(12, 2));
  insert into customer values (1, 'anna@example.com', 'de'), (2, 'toni@example.com', 'de_AT'), (3, 'marie@example.com', 'fr-CA'),
    (4, 'ann@example.com', ''), (5, 'nobody@example.com', null), (6, 'eve@example.com', E'x\\r\\nBcc: evil@example.com'),
    (7, 'long@example.com', repeat('de-', 5000)), (8, 'proto@example.com', 'constructor'), (9, 'swiss@example.com', 'DE-ch');`;
const QUERY = 'query ($filter: String) { customer(filter: $filter) { email language } }';

describe('the language of an email', () => {
  let fixture: WebFixture;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    provider = await startFakeProvider();
    fixture = await WebFixture.start();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(fixture.testDatabase.database, config, {
      engine: fixture.engine,
      templates: fixture.templates,
    });
    tenant = await fixture.createTenant('shop', TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await control('mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    await createType('order', { locale: '{{ customer[0].language }}', unsubscribe: 'type' });
    await createType('order_de', { subject: 'Bestellung', template: TOTAL.replace('Total', 'Summe') });
    await createType('order_de_at', { subject: 'Bestellung, bitte', template: TOTAL });
    const other = await fixture.createTenant('neighbour', TABLES);
    const token = (await fixture.signIn(other.tenantid)).access_token;
    await fixture.control(token, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    await createType('order_fr', { subject: "another tenant's" }, token);
    await control('mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
      input: {
        name: 'ordered',
        operations: ['insert'],
        targets: ['orders'],
        email_type: 'order',
        query_roleid: tenant.rootRoleid,
      },
    });
  });
  after(async () => {
    await pipeline.stop();
    await fixture.stop();
    await provider.stop();
  });

  const TOTAL = "<p>Total {{ records.new.total|format_currency('EUR') }}</p>";
  async function control(query: string, variables: Json = {}, token = root): Promise<Json> {
    const { data, errors } = await fixture.control(token, query, variables);
    expect(errors).to.equal(undefined);
    return data!;
  }
  async function createType(name: string, changes: Json, token = root): Promise<void> {
    const input = {
      email_type: name,
      subject: 'Order',
      sender: 'shop@example.com',
      recipients: ['{{ customer[0].email }}'],
      queries: [{ query: QUERY, filter: 'id = {{ records.new.customer_id }}', outvar: 'customer' }],
      template: TOTAL,
      ...changes,
    };
    const query =
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type locale } }';
    await control(query, { input }, token);
  }

  it('is found by the nearest variant: region, language, and else the type itself', async () => {
    const create = Array.from(
      { length: 9 },
      (_, i) =>
        `o${i + 1}: create_orders(input: {id: ${i + 1}, customer_id: ${i + 1}, total: "34.50"}) { id }`,
    );
    const { errors } = await fixture.graphql('/query', root, `mutation { ${create.join(' ')} }`);
    expect(errors).to.equal(undefined);
    await waitFor('the emails', () => provider.calls.length === 9);
    const emails = provider.calls;
    const letters: Readonly<Record<string, unknown>> = Object.fromEntries(
      emails.map(({ body }) => [
        String(body.personalizations[0]?.to[0]?.email.split('@')[0]),
        [body.subject, partOf(body), body.headers?.['Content-Language']].map((text) =>
          text?.replace(/\u00a0/g, ' '),
        ),
      ]),
    );
    expect(letters).to.deep.equal({
      anna: ['Bestellung', '<p>Summe 34,50 €</p>', 'de'],
      toni: ['Bestellung, bitte', '<p>Total € 34,50</p>', 'de-AT'],
      swiss: ['Bestellung', '<p>Summe EUR 34.50</p>', 'de-CH'],
      marie: ['Order', '<p>Total 34,50 €</p>', 'fr-CA'],
      ann: ['Order', '<p>Total €34.50</p>', undefined],
      nobody: ['Order', '<p>Total €34.50</p>', undefined],
      eve: ['Order', '<p>Total €34.50</p>', undefined],
      long: ['Order', '<p>Total €34.50</p>', undefined],
      proto: ['Order', '<p>Total €34.50</p>', undefined],
    });
    // What can be unsubscribed from is the rule's type, whatever its variant.
    expect(emails.every(({ body }) => body.headers?.['List-Unsubscribe'] !== undefined)).to.equal(true);
  });

  it('shows in previews, of drafts too', async () => {
    const preview = async (args: string): Promise<unknown> => {
      const data = await control(
        `{ Utility { preview_email(${args}, target: "orders", key: 2) { subject headers error { message } } } }`,
      );
      return at(data, 'Utility.preview_email');
    };
    expect(await preview('email_type: "order"')).to.deep.include({
      subject: 'Bestellung, bitte',
      error: null,
    });
    expect(await preview('email_type: "order", input: {locale: "de"}')).to.include({ subject: 'Bestellung' });
    expect(await preview('email_type: "order", input: {locale: "{{ nothing }}"}')).to.include({
      subject: 'Order',
    });
  });

  it('is checked when it is saved', async () => {
    const { errors } = await fixture.control(
      root,
      'mutation { update_email_type(email_type: "order", input: {locale: "{{ x"}) { email_type } }',
    );
    expect(errors?.[0]?.extensions).to.include({ code: 'TEMPLATE_SYNTAX', field: 'locale' });
  });

  it('names variants by their parts, the nearest first', () => {
    expect(variantNames('welcome', 'zh-Hant-TW')).to.deep.equal([
      'welcome_zh_Hant_TW',
      'welcome_zh_Hant',
      'welcome_zh',
    ]);
    expect(variantNames('welcome', 'de-u-nu-latn')).to.deep.equal(['welcome_de']);
  });
});
