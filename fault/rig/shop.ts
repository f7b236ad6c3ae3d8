import { randomBytes } from 'node:crypto';
import { createTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { Database } from '../../src/db/pool/database.js';
import type { Canary } from './canaries.js';
import { post } from './post.js';
import { SET_TRANSPORT, accountOf, type ShopCarrier } from './shopCarrier.js';

/** A tenant whose orders all become emails, with all its data distinguishable from other tenants'. */
export interface Shop {
  readonly number: number;
  readonly tenantid: number;
  readonly schema: string;
  readonly rootPassword: string;
  readonly apiKey: string;
  /** Appears in its templates. */
  readonly marker: string;
  readonly special: Speciality;
}

/** How a special shop differs from ordinary ones. */
export interface Speciality {
  /** SQL to run after creating its tables. */
  readonly tables?: string;
  /** Appended to the common templates. */
  readonly template?: string;
  /** Run in addition to the common query. */
  readonly query?: string;
  /** Error codes with which its deliveries may fail: the visible result of emails that can't be sent. */
  readonly mayFailWith?: readonly string[];
}

/** A shop that is being served. */
export interface OpenShop extends Shop {
  readonly token: string;
  /** All writers of orders are captured. */
  readonly captured: boolean;
  readonly carrier: ShopCarrier;
  /** All its keys so far: `apiKey`, and those set later. */
  readonly apiKeys: string[];
  /** Sends every order, and again if the outcome is unknown. */
  readonly confirmRuleid: string;
  /** Sends orders of the channel `once`, and never twice. */
  readonly receiptRuleid: string;
}

export const VISIBLE_CUSTOMER = 'visible-customer';
export const HIDDEN_CUSTOMER = 'hidden-customer';

const TABLES = (number: number): string => `
  create table customer (
    customer_id int primary key, name text not null, email text not null, visible boolean not null);
  create table orders (
    order_id int primary key, channel text not null, mark text not null);
  insert into customer values
    (1, '${VISIBLE_CUSTOMER}-${number}', 'shop-${number}@example.com', true),
    (2, '${HIDDEN_CUSTOMER}-${number}', 'hidden-${number}@example.com', false);`;

/** Creates the tenant and its tables. */
export async function createShop(
  database: Database,
  number: number,
  special: Speciality = {},
): Promise<Shop> {
  const rootPassword = `canary-password-${randomBytes(12).toString('hex')}`;
  const name = `shop${number}`;
  const { tenantid, schema } = await createTenant(database.pool, { name, rootLogin: 'root', rootPassword });
  await runTenantSql(database, { tenantid, sql: TABLES(number) + (special.tables ?? '') });
  const apiKey = newKey(number);
  return { number, tenantid, schema, rootPassword, apiKey, marker: `template-of-shop-${number};`, special };
}

export interface ShopOptions {
  readonly captured: boolean;
  readonly carrier: ShopCarrier;
  readonly smtpPort: number;
}

/** Sets up the shop's emails, as its administrator would. */
export async function openShop(
  shop: Shop,
  baseUrl: string,
  { captured, carrier, smtpPort }: ShopOptions,
): Promise<OpenShop> {
  const login = { login: 'root', password: shop.rootPassword, tenantid: shop.tenantid };
  const { access_token: token } = await post<{ access_token: string }>(`${baseUrl}/auth`, login);
  const control = async <T>(query: string, input?: object): Promise<T> => {
    const body = { query, variables: { input } };
    return (await post<{ data: T }>(`${baseUrl}/roles_pbac`, body, token)).data;
  };
  await control(`mutation { set_email_apikey(apikey: "${shop.apiKey}") { apikey } }`);
  if (carrier !== 'sendgrid') {
    await control(SET_TRANSPORT, accountOf(carrier, { ...shop, smtpPort }));
  }
  if (captured) {
    await control('mutation { Utility { set_capture(table_name: "orders", writers: all) { writers } } }');
  }
  const clerk = await createClerk(control);
  for (const type of emailTypes(shop)) {
    await control(
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      type,
    );
  }
  const createRule = async (rule: object): Promise<string> => {
    const created = await control<{ create_email_rule: { ruleid: string } }>(
      'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }',
      { operations: ['insert'], targets: ['orders'], query_roleid: clerk, ...rule },
    );
    return created.create_email_rule.ruleid;
  };
  return {
    ...shop,
    token,
    captured,
    carrier,
    apiKeys: [shop.apiKey],
    confirmRuleid: await createRule({ name: 'confirm', email_type: 'confirmation' }),
    receiptRuleid: await createRule({
      name: 'receipt',
      email_type: 'receipt',
      condition: "new.channel = 'once'",
      delivery: 'at_most_once',
    }),
  };
}

/** Sets a new key, which resumes paused deliveries. */
export async function replaceKey(shop: OpenShop, baseUrl: string): Promise<void> {
  const apiKey = newKey(shop.number);
  shop.apiKeys.push(apiKey);
  const query = `mutation { set_email_apikey(apikey: "${apiKey}") { apikey } }`;
  await post(`${baseUrl}/roles_pbac`, { query }, shop.token);
}

const newKey = (number: number): string => `SG.canary-${number}-${randomBytes(16).toString('hex')}`;

/** A role that may only read visible customers. */
async function createClerk(control: <T>(query: string, input?: object) => Promise<T>): Promise<number> {
  const { create_role } = await control<{ create_role: { roleid: string } }>(
    'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
    {
      login: 'clerk',
      password: randomBytes(12).toString('hex'),
      name: 'clerk',
      capabilities: ['login', 'select'],
    },
  );
  const roleid = Number(create_role.roleid);
  await control('mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }', {
    name: 'clerks see visible customers',
    roles: [roleid],
    capabilities: ['select'],
    targets: ['customer'],
    filter: 'visible = true',
  });
  return roleid;
}

/** Both emails list all customers that their query returns: one, under the role's policies. */
function emailTypes({ number, marker, special }: Shop): readonly object[] {
  const common = {
    sender: `sender-${number}@example.com`,
    recipients: ['{{ seen[0].email }}'],
    template: `<p>${marker} {{ records.new.mark }} {% for c in seen %}[{{ c.name }}]{% endfor %}</p>${special.template ?? ''}`,
    queries: [
      { outvar: 'seen', query: '{ customer { name email } }' },
      ...(special.query === undefined ? [] : [{ outvar: 'more', query: special.query }]),
    ],
  };
  return [
    { ...common, email_type: 'confirmation', subject: 'confirm {{ records.new.mark }}' },
    { ...common, email_type: 'receipt', subject: 'receipt {{ records.new.mark }}' },
  ];
}

export function secretsOf(shop: Shop): readonly Canary[] {
  return [
    { name: `API key of shop ${shop.number}`, secret: shop.apiKey },
    { name: `root password of shop ${shop.number}`, secret: shop.rootPassword },
  ];
}
