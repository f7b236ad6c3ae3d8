import { post, signInAsRoot, signInUnderPolicy, type BenchTenant } from '../support/installation.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';
import { TIMED } from './timedSubject.js';

const CUSTOMERS = 500;
export const ORDERS = CUSTOMERS * 10;

/** The shop, whose items say when they were written. */
export const EMAIL_SHOP_TABLES = `${SHOP_TABLES}
  alter table item add column written_ms text not null default (extract(epoch from clock_timestamp()) * 1000)::text;
  ${fillShop(CUSTOMERS)}`;

/** About 20 lines: an order with its customer and up to five items. */
const TEMPLATE = `<!doctype html>
<html>
<body>
<p>Dear {{ found[0].customer.name }},</p>
<h1>Your order {{ found[0].order_id }} is {{ found[0].status|upper }}</h1>
<table>
{% for item in found[0].item_collection %}
<tr>
<td>{{ loop.index }}</td>
<td>{{ item.product }}</td>
<td>{{ item.quantity }}</td>
<td>{{ item.price }}</td>
</tr>
{% endfor %}
</table>
{% if found[0].total > 100 %}
<p>Thank you for your large order of {{ found[0].total }}.</p>
{% endif %}
<p>We send it to {{ found[0].customer.city }}.</p>
<p><a href="{{ base_url }}/orders/{{ found[0].order_id }}">Your order</a></p>
</body>
</html>`;

/** The same, with a style sheet as newsletters have one. */
export const LARGE_TEMPLATE = TEMPLATE.replace(
  '<body>',
  `<style>${'p { margin: 0 }\n'.repeat(600)}</style><body>`,
);

const QUERY = `query ($filter: String) { orders(filter: $filter) {
  order_id status total createdate customer { name email city }
  item_collection(limit: 5, ordering: "item_id") { product quantity price } } }`;

/** A tenant whose every new item sends an email. */
export interface EmailShop {
  readonly tenantid: number;
  /** The role that the email type's query runs as. */
  readonly roleid: number;
  /** Its access token: it may read the shop and add items. */
  readonly token: string;
}

interface ControlResponse {
  readonly data: { readonly role?: readonly { readonly roleid: string }[] };
}

/** Sets up the key, the email type with one nested query and the rule, by GraphQL. */
export async function setUpEmailShop(
  baseUrl: string,
  { tenantid }: BenchTenant,
  template = TEMPLATE,
): Promise<EmailShop> {
  const token = await signInUnderPolicy(baseUrl, tenantid, {
    capabilities: ['select', 'insert'],
    targets: ['customer', 'orders', 'item'],
  });
  const root = await signInAsRoot(baseUrl, tenantid);
  const control = (query: string, variables = {}) =>
    post<ControlResponse>(`${baseUrl}/roles_pbac`, { query, variables }, root);
  const { data } = await control(`{ role(filter: "login = 'clerk'") { roleid } }`);
  const roleid = Number(data.role?.[0]?.roleid);
  await control(`mutation { set_email_apikey(apikey: "SG.bench${tenantid}") { apikey } }`);
  await control('mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }', {
    input: {
      email_type: 'confirmation',
      sender: 'Shop <shop@example.com>',
      recipients: ['{{ found[0].customer.email }}'],
      subject: '{{ records.new.product }} {{ records.new.item_id }} {{ records.new.written_ms }}',
      template,
      queries: [{ outvar: 'found', query: QUERY, filter: 'order_id = {{ records.new.order_id }}' }],
    },
  });
  await control('mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
    input: {
      name: 'confirm',
      operations: ['insert'],
      targets: ['item'],
      email_type: 'confirmation',
      query_roleid: roleid,
    },
  });
  return { tenantid, roleid, token };
}

/** The input of a mutation that causes an email whose way is timed. @param turn tells which order gets the item */
export function newItem(turn: number) {
  return { order_id: 1 + (turn % ORDERS), product: TIMED.trim(), quantity: 2, price: 14.5 };
}
