// /query through PgBouncer in transaction mode, which lacks prepared statements before 1.21, against PostgreSQL itself.
import { startPooledPostgres } from '../../test/support/pgbouncer.js';
import { runRowpost } from '../../test/support/rowpostProcess.js';
import { createInstallation, signInUnderPolicy } from '../support/installation.js';
import { measure } from '../support/load.js';
import { report } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';

const REQUESTS = {
  'one row': {
    query: 'query One ($filter: String) { customer(filter: $filter) { customer_id name email city } }',
    variables: { filter: 'customer_id = 1' },
  },
  'nested read, 20 × 10 rows': {
    query: '{ customer(limit: 20) { customer_id name orders_collection { order_id status total } } }',
  },
  create: {
    query: 'mutation ($input: itemInput) { create_item(input: $input) { item_id product } }',
    variables: { input: { order_id: 1, product: 'Letter paper, laid', quantity: 2, price: 14.5 } },
  },
};
const CONNECTIONS = 16;
const rounds = Number(process.argv[2] ?? 5);

const postgres = await startPooledPostgres();
const installation = await createInstallation(SHOP_TABLES + fillShop(50), { postgres });
const pooled = new URL(postgres.url);
pooled.port = String(postgres.pgbouncerPort);
const throughPooler = {
  DATABASE_URL: pooled.href,
  DATABASE_DIRECT_URL: postgres.url,
  PREPARED_STATEMENTS: 'off',
};
const released = await runRowpost(['release'], throughPooler);
if (released.code !== 0) throw new Error(released.stderr);
const direct = await installation.startWeb();
const contenders = [
  { name: 'PostgreSQL itself', web: direct },
  { name: 'itself, unprepared', web: await installation.startWeb({ PREPARED_STATEMENTS: 'off' }) },
  { name: 'through PgBouncer', web: await installation.startWeb(throughPooler) },
];
const token = await signInUnderPolicy(direct.baseUrl, installation.tenantid, {
  capabilities: ['select', 'insert'],
  targets: ['customer', 'orders', 'item'],
});
const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
for (const [request, body] of Object.entries(REQUESTS)) {
  const loads = contenders.map(({ name, web }) => ({
    name,
    url: `${web.baseUrl}/query`,
    headers,
    body: JSON.stringify(body),
  }));
  const results = await measure(loads, { connections: CONNECTIONS, seconds: 3, rounds });
  report(`${request}, ${CONNECTIONS} connections, fsync off`, 'PostgreSQL itself', results);
}
await installation.stop();
