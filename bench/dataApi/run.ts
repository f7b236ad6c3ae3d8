// The data API against its peers, on the same tables in one run: a list of 50 orders with items, one row by key, create.
// Arguments: rounds, seconds a round, connections as 1,16,64. Before: (cd bench/peers && npm ci && npm install --prefix directus)
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { recordStatement } from '../nestedRead/recordStatement.js';
import { startChildServer } from '../support/childServer.js';
import { createInstallation, signInUnderPolicy } from '../support/installation.js';
import { measure } from '../support/load.js';
import { report } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';
import {
  dataLoader,
  directus,
  filterByKey,
  postgraphile,
  raw,
  rowpost,
  ROWPOST_LIST,
  ROWPOST_SINGLE,
  type Contender,
  type Scenario,
} from './contenders.js';
import { DIRECTUS_TOKEN, startDirectus } from '../support/directus.js';
import { peerFile, peerNode } from '../support/peers.js';
import { KEY_PLACEHOLDER } from './shop.js';

const CUSTOMERS = 200;
const ORDERS = CUSTOMERS * 10;
const POOL = 16;
const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 4);
let lastKey = 0;
const connections = (process.argv[4] ?? '1,16,64').split(',').map(Number);

const installation = await createInstallation(SHOP_TABLES + fillShop(CUSTOMERS));
const { tenantid, schema, databaseUrl } = installation;
const web = await installation.startWeb({ PG_POOL: String(POOL) });
const token = await signInUnderPolicy(web.baseUrl, tenantid, {
  capabilities: ['select', 'insert'],
  targets: ['customer', 'orders', 'item'],
});

const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-bench-'));
const sqlFile = path.join(folder, 'statements.json');
const record = { databaseUrl, tenantid, roleLogin: 'clerk' };
const list = await recordStatement({ ...record, query: ROWPOST_LIST });
const variables = { filter: filterByKey(KEY_PLACEHOLDER) };
const single = await recordStatement({ ...record, query: ROWPOST_SINGLE, variables });
await writeFile(sqlFile, JSON.stringify({ list, single }));

const here = (file: string): URL => new URL(file, import.meta.url);
const servers = {
  raw: await startChildServer(here('rawServer.ts'), [databaseUrl, schema, sqlFile, String(POOL)]),
  dataLoader: await startChildServer(here('dataLoaderServer.ts'), [databaseUrl, schema, String(POOL)]),
  postgraphile: await startChildServer(
    peerFile('postgraphileServer.mjs'),
    [databaseUrl, schema, String(POOL)],
    peerNode(),
  ),
  directus: await startDirectus(databaseUrl, schema, POOL),
};
const contenders: readonly Contender[] = [
  postgraphile(servers.postgraphile.url),
  rowpost(web.baseUrl, token),
  raw(servers.raw.url),
  dataLoader(servers.dataLoader.url),
  directus(servers.directus.url, DIRECTUS_TOKEN),
];

try {
  for (const scenario of ['list', 'single', 'create'] as const) {
    await compareResponses(scenario);
    for (const inFlight of connections) await compareRates(scenario, inFlight);
  }
} finally {
  for (const server of Object.values(servers)) await server.stop();
  await installation.stop();
  await rm(folder, { recursive: true, force: true });
}

async function compareRates(scenario: Scenario, inFlight: number): Promise<void> {
  const loads = contenders.map(({ name, requests }) => {
    const { url, headers, body } = requests[scenario];
    return { name, url, headers, nextBody: () => JSON.stringify(body(nextKey())) };
  });
  const results = await measure(loads, { connections: inFlight, seconds, rounds });
  report(`${scenario}, ${inFlight} in flight, fsync on`, 'PostGraphile 5', results);
}

/** All must respond alike, or their rates mean nothing. */
async function compareResponses(scenario: Scenario): Promise<void> {
  let expected: string | undefined;
  for (const { name, requests } of contenders) {
    const { url, headers, body, orders } = requests[scenario];
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body(7)) });
    const payload = (await response.json()) as { data?: unknown; errors?: unknown };
    if (!response.ok || payload.errors !== undefined) {
      throw new Error(`${name}, ${scenario}: ${JSON.stringify(payload)}`);
    }
    const shown = JSON.stringify(orders(payload.data));
    expected ??= shown;
    if (shown !== expected) throw new Error(`${name}, ${scenario}: ${shown} is not ${expected}`);
  }
}

/** Keys in an order that repeats after all orders. */
function nextKey(): number {
  lastKey = (lastKey + 611) % ORDERS;
  return lastKey + 1;
}
