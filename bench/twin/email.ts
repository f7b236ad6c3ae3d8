import http from 'node:http';
import library from '@sendgrid/mail';
import type pg from 'pg';

/** An order as the email's query reads it, for one event each. */
interface Order {
  readonly turn: string;
  readonly order_id: number;
  readonly status: string;
  readonly total: string;
  readonly name: string;
  readonly email: string;
  readonly city: string;
  readonly items: readonly { readonly product: string; readonly quantity: number; readonly price: number }[];
}

/** The row of an event. */
export interface Item {
  readonly item_id: number;
  readonly order_id: number;
  readonly product: string;
  readonly written_ms: string;
}

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly html: string;
}

/** One statement for all emails of a batch. */
const QUERY = `select k.turn, o.order_id, o.status, o.total::text, c.name, c.email, c.city,
    coalesce((select json_agg(i) from (select product, quantity, price from shop.item
      where order_id = o.order_id order by item_id limit 5) i), '[]') as items
  from unnest($1::int[]) with ordinality k (order_id, turn)
  join shop.orders o on o.order_id = k.order_id
  join shop.customer c on c.customer_id = o.customer_id`;

/** @param shop connections that run as the shop's own role @returns an email for each item, in their order */
export async function composeEmails(shop: pg.Pool, items: readonly Item[]): Promise<(Email | undefined)[]> {
  const { rows } = await shop.query<Order>({
    name: 'order',
    text: QUERY,
    values: [items.map(({ order_id }) => order_id)],
  });
  const emails = new Array<Email | undefined>(items.length);
  for (const order of rows) {
    const at = Number(order.turn) - 1;
    const { product, item_id, written_ms } = items[at] as Item;
    emails[at] = { to: order.email, subject: `${product} ${item_id} ${written_ms}`, html: render(order) };
  }
  return emails;
}

const SPECIAL = /[&<>"']/g;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replace(SPECIAL, (character) => ENTITIES[character] as string);

/** The template of bench/pipeline/emailShop.ts, compiled by hand. */
function render(order: Order): string {
  let rows = '';
  order.items.forEach(({ product, quantity, price }, index) => {
    rows += `\n<tr>\n<td>${index + 1}</td>\n<td>${escape(product)}</td>\n<td>${quantity}</td>\n<td>${price}</td>\n</tr>\n`;
  });
  const large =
    Number(order.total) > 100 ? `\n<p>Thank you for your large order of ${escape(order.total)}.</p>\n` : '';
  return `<!doctype html>
<html>
<body>
<p>Dear ${escape(order.name)},</p>
<h1>Your order ${order.order_id} is ${escape(order.status.toUpperCase())}</h1>
<table>
${rows}
</table>
${large}
<p>We send it to ${escape(order.city)}.</p>
<p><a href="http://localhost/orders/${order.order_id}">Your order</a></p>
</body>
</html>`;
}

export interface Outcome {
  readonly outcome: 'sent' | 'rejected' | 'retry' | 'ambiguous';
  readonly status: number | null;
  readonly messageId: string | null;
}

interface Service {
  setApiKey(key: string): void;
  setClient(client: { request(request: { readonly body: object }): Promise<Outcome> }): void;
  send(data: object): Promise<Outcome>;
}
// The typings only declare the default instance, not the class.
const { MailService } = library as unknown as { MailService: new () => Service };

const TIMEOUT_MS = 10_000;

/** @returns a function that sends one email; it never rejects */
export function createSend(carrier: string, connections: number): (email: Email) => Promise<Outcome> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  const headers = { authorization: 'Bearer SG.bench', 'content-type': 'application/json' };
  const post = (body: string): Promise<Outcome> =>
    new Promise((resolve) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const options = { method: 'POST', agent, headers: { ...headers, ...length }, timeout: TIMEOUT_MS };
      const request = http.request(`${carrier}v3/mail/send`, options, (response) => {
        const status = response.statusCode ?? 0;
        const messageId = response.headers['x-message-id'];
        response.resume();
        response.once('error', () => {
          resolve({ outcome: 'ambiguous', status, messageId: null });
        });
        response.once('end', () => {
          resolve({
            outcome: outcomeOf(status),
            status,
            messageId: typeof messageId === 'string' ? messageId : null,
          });
        });
      });
      request.once('timeout', () => request.destroy());
      request.once('error', (error: NodeJS.ErrnoException) => {
        const outcome = error.code === 'ECONNREFUSED' ? 'retry' : 'ambiguous';
        resolve({ outcome, status: null, messageId: null });
      });
      request.end(body);
    });
  const service = new MailService();
  service.setClient({ request: ({ body }) => post(JSON.stringify(body)) });
  return ({ to, subject, html }) => service.send({ from: 'Shop <shop@example.com>', to, subject, html });
}

function outcomeOf(status: number): Outcome['outcome'] {
  if (status >= 200 && status < 300) return 'sent';
  return status === 429 || status >= 500 ? 'retry' : 'rejected';
}
