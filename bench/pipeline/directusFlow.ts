import type { ChildServer } from '../support/childServer.js';
import { DIRECTUS_TOKEN, startDirectus } from '../support/directus.js';
import type { Carrier } from './carrier.js';
import type { Site } from './site.js';

const POOL = 16;

/** The email as Directus can make it: its placeholders know no loops. */
const HTML = `<p>Dear {{read.order_id.customer_id.name}},</p>
<h1>Your order {{read.order_id.order_id}} is {{read.order_id.status}}</h1>
<p>{{read.order_id.item_collection[0].product}}: {{read.order_id.item_collection[0].quantity}}</p>
<p>Thank you for your order of {{read.order_id.total}}. We send it to {{read.order_id.customer_id.city}}.</p>`;

/**
 * Directus on the site's tables, with a flow: an item is created → the order is read with its customer and items → the
 * email goes to the carrier by a web request, which costs less than its email operation by SMTP.
 */
export async function startDirectusFlow(site: Site): Promise<Pick<ChildServer, 'url' | 'stop'>> {
  const { databaseUrl, schema } = site.installation;
  // The carrier listens on this machine, where Directus would not send requests.
  const directus = await startDirectus(databaseUrl, schema, POOL, { IMPORT_IP_DENY_LIST: '' });
  try {
    await createFlow(directus.url, site.carrier);
  } catch (error) {
    await directus.stop();
    throw error;
  }
  return directus;
}

async function createFlow(url: string, carrier: Carrier): Promise<void> {
  const create = (collection: string, body: object): Promise<string> => send(url, 'POST', collection, body);
  const flow = await create('flows', {
    name: 'confirm',
    status: 'active',
    trigger: 'event',
    accountability: null,
    options: { type: 'action', scope: ['items.create'], collections: ['item'] },
  });
  const email = await create('operations', { ...emailOperation(carrier), flow });
  const read = await create('operations', { ...READ_OPERATION, flow, resolve: email });
  await send(url, 'PATCH', `flows/${flow}`, { operation: read });
}

const READ_OPERATION = {
  name: 'read',
  key: 'read',
  type: 'item-read',
  position_x: 20,
  position_y: 1,
  options: {
    permissions: '$full',
    collection: 'item',
    key: '{{$trigger.key}}',
    query: {
      fields: ['item_id', 'order_id.*', 'order_id.customer_id.*', 'order_id.item_collection.*'],
      deep: { order_id: { item_collection: { _limit: 5 } } },
    },
  },
};

const emailOperation = (carrier: Carrier) => ({
  name: 'email',
  key: 'email',
  type: 'request',
  position_x: 40,
  position_y: 1,
  options: {
    method: 'POST',
    url: `${carrier.url}v3/mail/send`,
    headers: [{ header: 'Authorization', value: 'Bearer SG.bench' }],
    body: JSON.stringify({
      from: { email: 'shop@example.com' },
      personalizations: [{ to: [{ email: '{{read.order_id.customer_id.email}}' }] }],
      subject: 'Order {{read.order_id.order_id}}',
      content: [{ type: 'text/html', value: HTML }],
    }),
  },
});

/** @returns the key of what was made or changed */
async function send(url: string, method: string, path: string, body: object): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${DIRECTUS_TOKEN}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`directus: ${method} ${path}: ${text}`);
  return (JSON.parse(text) as { data: { id: string } }).data.id;
}
