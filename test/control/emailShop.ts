import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';

export const TABLES = `
  create table customer (id int primary key, name text, email text);
  create table orders (id int, line int, status text, total numeric, customer_id int references customer, primary key (id, line));
  create table price (id int primary key, amount numeric, rate numeric(20, 8), weight float8, steps numeric[]);
  create table note (id int primary key, text text);
  insert into customer values (1, 'Ada <A>', 'ada@example.com'), (2, 'Bob', 'bob@example.com');
  insert into orders values (7, 1, 'paid', 12.50, 1), (8, 1, 'new', 3, 2);
  insert into price values (1, 10.00, 0, 10, '{1.10,2.20}'), (2, 1234567890123456789.50, 0.5, 10.5, '{3}');
  insert into note values (1, 'plain'), (2, $t$x' or 1 = 1 or 'y' = 'x$t$), (3, '7 or true');
`;
export const QUERY =
  'query ($filter: String) { orders(filter: $filter) { id status total customer { name email } } }';
const ERROR = 'error { code field message line column hint }';
const ARGS = `$type: ID!, $target: String, $key: GenericScalar, $operation: String, $context: GenericScalar, $role: Int`;
const PASSED =
  'email_type: $type, target: $target, key: $key, operation: $operation, context: $context, query_roleid: $role';
const PREVIEW = `query (${ARGS}) { Utility { preview_email(${PASSED}) {
  subject html sender recipients cc bcc queries { outvar result error } ${ERROR} } } }`;
export const SEND = `mutation (${ARGS}, $to: String!) { Utility { send_test_email(${PASSED}, to: $to) {
  sent provider_message_id ${ERROR} } } }`;
export const API_KEY = 'SG.secret-of-the-shop';

/** The row that previews and test emails are mostly about. */
export const ORDER = { target: 'orders', key: { id: 7, line: 1 } };

/** A shop with orders and notes, its provider, its root and a clerk without a policy rule. */
export class Shop {
  #types = 0;

  private constructor(
    readonly fixture: WebFixture,
    readonly provider: FakeProvider,
    readonly tenant: CreatedTenant,
    readonly root: string,
    readonly clerk: { readonly roleid: number; readonly token: string },
  ) {}

  static async open(env: Readonly<Record<string, string>> = {}): Promise<Shop> {
    const provider = await startFakeProvider();
    const fixture = await WebFixture.start({
      env: { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: provider.url, SEND_DEADLINE_MS: '500', ...env },
    });
    const tenant = await fixture.createTenant('shop', TABLES);
    const root = (await fixture.signIn(tenant.tenantid)).access_token;
    const clerk = await fixture.createMember(root, 'clerk', ['select']);
    await fixture.control(root, `mutation { set_email_apikey(apikey: "${API_KEY}") { apikey } }`);
    return new Shop(fixture, provider, tenant, root, clerk);
  }

  async close(): Promise<void> {
    await this.fixture.stop();
    await this.provider.stop();
  }

  /** @returns the name of a new email type. */
  async createType(changes: Json = {}): Promise<string> {
    const name = `type_${++this.#types}`;
    const input = {
      email_type: name,
      template: '<p>{{ orders[0].customer.name }}: {{ orders[0].total }}</p>',
      subject: 'Order {{ records.new.id }} {{ operation }} {{ target }}',
      recipients: ['{{ orders[0].customer.name }} <{{ orders[0].customer.email }}>', 'Copy@example.com'],
      sender: 'Shop <shop@example.com>',
      queries: [{ query: QUERY, filter: 'id = {{ records.new.id }}', outvar: 'orders' }],
      options: { cc: ['cc@example.com'], bcc: '["bcc@example.com", "cc@example.com"]' },
      ...changes,
    };
    const made = await this.fixture.control(
      this.root,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      { input },
    );
    expect(made.errors).to.equal(undefined);
    return name;
  }

  /** An email type without queries. */
  createPlainType(changes: Json = {}): Promise<string> {
    return this.createType({
      recipients: ['a@example.com'],
      subject: 'S',
      template: 'T',
      queries: [],
      ...changes,
    });
  }

  preview(variables: Json, token = this.root): Promise<GraphqlResult> {
    return this.fixture.control(token, PREVIEW, variables);
  }

  /** The preview, which must be one. */
  async previewed(variables: Json): Promise<Json> {
    const result = await this.preview(variables);
    expect(result.errors).to.equal(undefined);
    return at(result, 'data.Utility.preview_email') as Json;
  }

  send(variables: Json, token = this.root): Promise<GraphqlResult> {
    return this.fixture.control(token, SEND, variables);
  }

  /** What became of a test email. */
  async sent(variables: Json): Promise<Json> {
    const result = await this.send(variables);
    expect(result.errors).to.equal(undefined);
    return at(result, 'data.Utility.send_test_email') as Json;
  }
}
