import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { ChildServer } from './childServer.js';
import { peerFile, peerNode } from './peers.js';

export const DIRECTUS_TOKEN = 'benchmark-token';

/** Directus's own tables stand in a schema of their own, beside the tenant's. */
const OWN_SCHEMA = 'directus';

/**
 * Directus on the same tables, with its collection of items set up as its data studio would do it. No cache, no rate
 * limit, no web sockets. Its administrator's token passes all its rules.
 * @param settings further environment of Directus
 */
export async function startDirectus(
  databaseUrl: string,
  schema: string,
  poolSize: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Pick<ChildServer, 'url' | 'stop'>> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'directus-bench-'));
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SECRET: 'benchmark-secret-benchmark-secret',
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: databaseUrl,
    DB_SEARCH_PATH: `array:${OWN_SCHEMA},${schema}`,
    DB_POOL__MIN: '0',
    DB_POOL__MAX: String(poolSize),
    ADMIN_EMAIL: 'admin@example.com',
    ADMIN_PASSWORD: 'benchmark-password',
    ADMIN_TOKEN: DIRECTUS_TOKEN,
    CACHE_ENABLED: 'false',
    RATE_LIMITER_ENABLED: 'false',
    WEBSOCKETS_ENABLED: 'false',
    TELEMETRY: 'false',
    // It would respond with 503 to a part of the load instead of taking longer.
    PRESSURE_LIMITER_ENABLED: 'false',
    SERVE_APP: 'false',
    LOG_LEVEL: 'error',
    EXTENSIONS_PATH: folder,
    STORAGE_LOCAL_ROOT: folder,
    ...settings,
  };
  const start = (command: string) =>
    spawn(peerNode(), [fileURLToPath(peerFile('directus/node_modules/directus/cli.js')), command], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  await makeOwnSchema(databaseUrl);
  const [code] = (await once(start('bootstrap'), 'exit')) as [number | null];
  if (code !== 0) throw new Error(`directus bootstrap exited ${String(code)}`);
  const child = start('start');
  const url = `http://127.0.0.1:${port}/`;
  await untilReady(url);
  await relateItems(url);
  return {
    url,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function makeOwnSchema(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`create schema if not exists ${OWN_SCHEMA}`);
  await client.end();
}

/** The foreign key is there; the field that leads the other way is a setting of Directus. */
async function relateItems(url: string): Promise<void> {
  const send = async (method: string, at: string, body: unknown): Promise<void> => {
    const response = await fetch(`${url}${at}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${DIRECTUS_TOKEN}` },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`directus: ${method} ${at}: ${await response.text()}`);
  };
  for (const collection of ['orders', 'item', 'customer']) {
    await send('PATCH', `collections/${collection}`, { meta: { hidden: false } });
  }
  await send('POST', 'fields/orders', {
    field: 'item_collection',
    type: 'alias',
    meta: { special: ['o2m'], interface: 'list-o2m' },
  });
  await send('PATCH', 'relations/item/order_id', {
    collection: 'item',
    field: 'order_id',
    related_collection: 'orders',
    meta: { one_field: 'item_collection' },
  });
}

const READY_WITHIN_MS = 120_000;
const ASK_EVERY_MS = 250;

async function untilReady(url: string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    const isUp = await fetch(`${url}server/ping`).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
  throw new Error('directus did not start');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
