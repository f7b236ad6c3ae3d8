// Errors that say where: docs/reference/errors.md shows them, and test/docs/errorExamples.test.ts sends each of them.

/** The tables that the examples are sent to. */
export const EXAMPLE_TABLES = `create table customer (
  customer_id int primary key,
  name varchar(5),
  credit numeric(6, 2),
  level smallint,
  weight real
);
create table orders (
  order_id int primary key,
  customer_id int not null references customer,
  rebate int check (rebate between 0 and 100),
  "first day" date,
  "last day" date,
  constraint days check ("first day" <= "last day"),
  referred_by int references customer on delete restrict
);
create table "odd-name" (id int primary key, "net price" int check ("net price" > 0));
insert into customer values (1, 'Ada', 0, 0, 0), (2, 'Grace', 0, 0, 0);
insert into orders (order_id, customer_id, referred_by) values (1, 1, null), (2, 1, 2);`;

export interface ErrorExample {
  readonly path: '/query' | '/roles_pbac';
  readonly request: string;
  readonly code: string;
  readonly message: string;
  /** Of `extensions`. */
  readonly table?: string;
  readonly column?: string;
  /** When it is not the code's own. */
  readonly hint?: string;
}

const query = (
  request: string,
  code: string,
  message: string,
  place: Pick<ErrorExample, 'table' | 'column' | 'hint'> = {},
): ErrorExample => ({ path: '/query', request, code, message, ...place });
const control = (request: string, code: string, message: string, hint?: string): ErrorExample => ({
  path: '/roles_pbac',
  request,
  code,
  message,
  ...(hint === undefined ? {} : { hint }),
});

export const ERROR_EXAMPLES: readonly ErrorExample[] = [
  query(
    'mutation { create_orders(input: { order_id: 9, customer_id: 7 }) { order_id } }',
    'FOREIGN_KEY_VIOLATION',
    'No row for customer_id of orders.',
    { table: 'orders', column: 'customer_id', hint: 'Give the key of a row that exists.' },
  ),
  query(
    'mutation { delete_customer(customer_id: 1) { name } }',
    'FOREIGN_KEY_VIOLATION',
    'The row is still referenced by orders (customer_id).',
    {
      table: 'orders',
      column: 'customer_id',
      hint: 'Change or delete the rows that reference it first.',
    },
  ),
  query(
    'mutation { delete_customer(customer_id: 2) { name } }',
    'FOREIGN_KEY_VIOLATION',
    'The row is still referenced by orders (referred_by).',
    {
      table: 'orders',
      column: 'referred_by',
      hint: 'Change or delete the rows that reference it first.',
    },
  ),
  query(
    'mutation { create_orders(input: { order_id: 9, customer_id: 1, rebate: 101 }) { order_id } }',
    'CHECK_VIOLATION',
    'The row violates orders_rebate_check of orders (rebate).',
    { table: 'orders', column: 'rebate' },
  ),
  query(
    'mutation { update_orders(order_id: 1, input: { first_day: "2026-02-02", last_day: "2026-02-01" }) { order_id } }',
    'CHECK_VIOLATION',
    'The row violates days of orders (first_day, last_day).',
    { table: 'orders', column: 'first_day, last_day' },
  ),
  query(
    'mutation { create_odd_name(input: { id: 1, net_price: 0 }) { id } }',
    'CHECK_VIOLATION',
    'The row violates odd-name_net price_check of odd_name (net_price).',
    { table: 'odd_name', column: 'net_price' },
  ),
  query(
    'mutation { update_customer(customer_id: 1, input: { name: "Ada Lovelace" }) { name } }',
    'BAD_USER_INPUT',
    'name: A text is longer than its column allows: at most 5 characters.',
    { table: 'customer', column: 'name' },
  ),
  query(
    'mutation { create_many_customer(input: [{ customer_id: 8 }, { customer_id: 9, name: "Ada Lovelace" }]) { name } }',
    'BAD_USER_INPUT',
    'name: A text is longer than its column allows: at most 5 characters.',
    { table: 'customer', column: 'name' },
  ),
  query(
    'mutation { update_customer(customer_id: 1, input: { credit: 9999.995 }) { name } }',
    'BAD_USER_INPUT',
    'credit: A number is out of the range of its type: at most 4 digits before the point.',
    { table: 'customer', column: 'credit' },
  ),
  query(
    'mutation { update_customer(customer_id: 1, input: { level: 32768 }) { name } }',
    'BAD_USER_INPUT',
    "level can't hold 32768.",
    { table: 'customer', column: 'level' },
  ),
  query(
    'mutation { update_customer(customer_id: 1, input: { weight: 1e39 }) { name } }',
    'BAD_USER_INPUT',
    "weight can't hold 1e39.",
    { table: 'customer', column: 'weight' },
  ),
  query(
    '{ ledger { id } }',
    'PERMISSION_DENIED',
    "The table ledger belongs to another database role, which has not granted this privilege to the tenant's role.",
    {
      table: 'ledger',
      hint: 'No policy rule helps: its owner in the database grants it to the role of the tenant. "rowpost doctor" lists what was never granted.',
    },
  ),
  control(
    'mutation { create_policy_rule(input: { name: "r", capabilities: ["select"], targets: ["odd-name"] }) { ruleid } }',
    'UNKNOWN_TABLE',
    'There is no table "odd-name".',
    'The table is served as "odd_name": use this name here, in rules, queries and templates.',
  ),
  control(
    'mutation { create_policy_rule(input: { name: "r", capabilities: ["select"], targets: ["costumer"] }) { ruleid } }',
    'UNKNOWN_TABLE',
    'There is no table "costumer".',
    'Did you mean "customer"?',
  ),
  control(
    'mutation { create_role_oidc(input: { roleid: 1, confid: 1, sub_id: "another" }) { roleid } }',
    'NAME_TAKEN',
    'Role 1 is mapped through configuration 1 already: change it with update_role_oidc.',
    'A role has one identity in each configuration: change its sub_id with update_role_oidc.',
  ),
];
