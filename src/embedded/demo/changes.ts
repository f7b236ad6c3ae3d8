import type { Client } from './client.js';
import type { Narrator } from './narrator.js';
import { BASKET, LEAVER, REGULARS, type Item } from './shop.js';

const FIRST_ORDER = 1001;

/** Places an order with its items in one request, and thus in one transaction. @returns its number */
export async function placeOrder(root: Client, orderNumber: string, narrator: Narrator): Promise<void> {
  const customer = await nextCustomer(root);
  const order = `create_orders(input: {order_number: "${orderNumber}", customer_id: ${customer}}) { order_number }`;
  const items = BASKET.map(
    (item, index) =>
      `item${index + 1}: create_order_items(input: ${itemInput(orderNumber, item)}) { item_id }`,
  );
  await change(root, [order, ...items], narrator);
}

export async function shipOrder(root: Client, orderNumber: string, narrator: Narrator): Promise<void> {
  const tracking = `PI-${orderNumber.slice(2)}-${Date.now() % 100_000}`;
  const input = `{status: "shipped", tracking: "${tracking}"}`;
  await change(root, [`update_orders(order_number: "${orderNumber}", input: ${input}) { status }`], narrator);
}

/** Attaches a file to the order's row as any client would: requests a URL, and uploads the bytes to it. */
export async function uploadInvoice(root: Client, orderNumber: string, narrator: Narrator): Promise<void> {
  const filename = `invoice-${orderNumber}.txt`;
  const invoice = `Invoice\nOrder ${orderNumber}\nPaper & Ink\n`;
  const document = `mutation {\n  upload_orders(order_number: "${orderNumber}", input: {filename: "${filename}"}) { upload_url }\n}`;
  narrator.document(document);
  const { upload_orders: upload } = await root.query<{ upload_orders: { upload_url: string } }>(document);
  await root.put(upload.upload_url, invoice);
  narrator.done(`PUT ${filename}, ${invoice.length} bytes`);
}

export async function deleteCustomer(root: Client, customerId: string, narrator: Narrator): Promise<void> {
  await change(root, [`delete_customers(customer_id: ${customerId}) { name email }`], narrator);
}

/** The shop assigns order numbers itself, so that a client knows the number before the order is stored. */
export async function nextOrderNumber(root: Client): Promise<string> {
  const { orders } = await root.query<{ orders: { order_number: string }[] }>(
    `query ($filter: String) { orders(filter: $filter, ordering: ["createdate desc"]) { order_number } }`,
    { filter: "order_number like 'R-%'" },
  );
  // Anonymous clients may have created orders with arbitrary numbers.
  const numbers = orders.flatMap(({ order_number }) => /^R-(\d{1,9})$/.exec(order_number)?.[1] ?? []);
  return `R-${Math.max(FIRST_ORDER - 1, ...numbers.map(Number)) + 1}`;
}

/** The customer who will leave; created now unless an earlier run was interrupted before the farewell. @returns the id */
export async function welcomeLeaver(root: Client): Promise<string> {
  const { customers } = await root.query<{ customers: { customer_id: string }[] }>(
    'query ($filter: String) { customers(filter: $filter) { customer_id } }',
    { filter: `email = '${LEAVER.email}'` },
  );
  if (customers[0]) return customers[0].customer_id;
  const { create_customers: created } = await root.query<{ create_customers: { customer_id: string } }>(
    'mutation ($input: customersInput) { create_customers(input: $input) { customer_id } }',
    { input: LEAVER },
  );
  return created.customer_id;
}

/** The regular customers take turns ordering. */
async function nextCustomer(root: Client): Promise<string> {
  const { orders, customers } = await root.query<{
    orders: { customer_id: number }[];
    customers: { customer_id: string }[];
  }>(
    `query ($filter: String) {
      orders(ordering: ["createdate desc"], limit: 1) { customer_id }
      customers(filter: $filter, ordering: ["customer_id"]) { customer_id }
    }`,
    { filter: `email in [${REGULARS.map((customer) => `'${customer.email}'`).join(', ')}]` },
  );
  const last = customers.findIndex((customer) => customer.customer_id === String(orders[0]?.customer_id));
  const next = customers[(last + 1) % customers.length];
  if (!next) throw new Error('the shop has lost its customers');
  return next.customer_id;
}

async function change(root: Client, fields: readonly string[], narrator: Narrator): Promise<void> {
  const document = `mutation {\n${fields.map((field) => `  ${field}`).join('\n')}\n}`;
  narrator.document(document);
  await root.query(document);
}

/** JSON strings and numbers are valid GraphQL literals. */
function itemInput(orderNumber: string, { product, quantity, price }: Item): string {
  return `{order_number: "${orderNumber}", product: ${JSON.stringify(product)}, quantity: ${quantity}, price: ${price}}`;
}
