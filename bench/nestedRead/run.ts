// A nested read (20 × 10 × 3 rows) through /query, against the same SQL behind plain node:http and against DataLoader.
import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { startChildServer } from '../support/childServer.js';
import { createInstallation, post, signInUnderPolicy } from '../support/installation.js';
import { measure } from '../support/load.js';
import { report } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';
import { recordStatement } from './recordStatement.js';

const QUERY = `{ customer(limit: 20) {
  customer_id name email city
  orders_collection { order_id status total createdate item_collection { item_id product quantity price } }
} }`;
const CONNECTIONS = 16;

const installation = await createInstallation(SHOP_TABLES + fillShop(200));
const { tenantid, schema, databaseUrl } = installation;
const web = await installation.startWeb({ LOG_LEVEL: 'info' });
const token = await signInUnderPolicy(web.baseUrl, tenantid, {
  capabilities: ['select'],
  targets: ['customer', 'orders', 'item'],
});

const statement = await recordStatement({ databaseUrl, tenantid, roleLogin: 'clerk', query: QUERY });
const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-bench-'));
const statementFile = path.join(folder, 'statement.json');
await writeFile(statementFile, JSON.stringify(statement));
const raw = await startChildServer(new URL('rawServer.ts', import.meta.url), [
  databaseUrl,
  statementFile,
  '16',
]);
const dataLoader = await startChildServer(new URL('dataLoaderServer.ts', import.meta.url), [
  databaseUrl,
  schema,
  '16',
]);

const json = { 'content-type': 'application/json' };
const loads = [
  { name: 'same SQL, pg + node:http', url: raw.url, headers: json, body: '{}' },
  {
    name: 'Rowpost (token, policy, tenant role)',
    url: `${web.baseUrl}/query`,
    headers: { ...json, authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: QUERY }),
  },
  {
    name: 'graphql-http + DataLoader',
    url: dataLoader.url,
    headers: json,
    body: JSON.stringify({ query: QUERY }),
  },
];

const [expected, rowpost] = await Promise.all([
  post<{ data: unknown }>(raw.url, {}),
  post<{ data: unknown }>(`${web.baseUrl}/query`, { query: QUERY }, token),
]);
if (JSON.stringify(expected.data) !== JSON.stringify(rowpost.data)) throw new Error('the responses differ');

const rounds = Number(process.argv[2] ?? 5);
const results = await measure(loads, { connections: CONNECTIONS, seconds: 5, rounds });
report(
  `Nested read, ${CONNECTIONS} connections, ${JSON.stringify(rowpost).length} bytes a response`,
  'same SQL, pg + node:http',
  results,
);

await raw.stop();
await dataLoader.stop();
await installation.stop();
