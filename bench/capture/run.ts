// A mutation with its outbox event through /query, against the same mutation whose statement leaves without the event.
import { createInstallation, post, signInUnderPolicy, type BenchWeb } from '../support/installation.js';
import { measure } from '../support/load.js';
import { report } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';

const MUTATION = `mutation ($input: itemInput) { create_item(input: $input) { item_id product } }`;
const VARIABLES = { input: { order_id: 1, product: 'Letter paper, laid', quantity: 2, price: 14.5 } };
const CONNECTIONS = 16;

const installation = await createInstallation(SHOP_TABLES + fillShop(20));
try {
  const { tenantid } = installation;
  const withEvent = await installation.startWeb();
  const withoutEvent = await installation.startWeb({
    NODE_OPTIONS: `--import ${new URL('withoutCapture.mjs', import.meta.url).href}`,
  });
  const token = await signInUnderPolicy(withEvent.baseUrl, tenantid, {
    capabilities: ['select', 'insert'],
    targets: ['customer', 'orders', 'item'],
  });

  const body = { query: MUTATION, variables: VARIABLES };
  const events = async (web: BenchWeb): Promise<number> => {
    const before = await installation.countEvents();
    await post(`${web.baseUrl}/query`, body, token);
    return (await installation.countEvents()) - before;
  };
  if ((await events(withEvent)) !== 1 || (await events(withoutEvent)) !== 0) {
    throw new Error('the two servers do not differ in the event');
  }

  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const load = (name: string, { baseUrl }: BenchWeb) => ({
    name,
    url: `${baseUrl}/query`,
    headers,
    body: JSON.stringify(body),
  });
  const rounds = Number(process.argv[2] ?? 7);
  const results = await measure([load('without event', withoutEvent), load('with event', withEvent)], {
    connections: CONNECTIONS,
    seconds: 5,
    rounds,
  });
  report(`create_item through /query, ${CONNECTIONS} connections, fsync on`, 'without event', results);
} finally {
  await installation.stop();
}
