import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { findFreePort } from '../../src/embedded/freePort.js';
import { startFakeProvider, type FakeProvider } from '../../test/support/fakeProvider.js';
import { runRowpost, startProcess, type RowpostProcess } from '../../test/support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../test/support/testDatabase.js';

export const CELL_NAMES = ['cell1', 'cell2'] as const;
export type CellName = (typeof CELL_NAMES)[number];

/** A tenant with a table `orders`, each row of which is confirmed by an email. */
export interface CellShop {
  readonly tenantid: number;
  readonly token: string;
  /** Where it was made. */
  readonly home: CellName;
}

export interface Cell {
  readonly name: CellName;
  readonly url: string;
  readonly testDatabase: TestDatabase;
  readonly env: Readonly<Record<string, string>>;
  /** Starts web, relay and workers. */
  start(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

/** Two cells with a directory, and a carrier that both send by. */
export interface CellsRig {
  readonly cells: Readonly<Record<CellName, Cell>>;
  readonly directory: TestDatabase;
  readonly carrier: FakeProvider;
  /** One made in each cell. */
  readonly shops: readonly CellShop[];
  /** The environment of a command that moves a tenant out of the cell. */
  moveEnv(from: CellName): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const WORKERS = 2;
const PG_POOL = '10';
/** What was sold before makes the copy last, so that the command is killed in the middle of it. */
const TABLES = `
  create table orders (order_id int primary key, note text not null default 'new');
  create table past (past_id int primary key, note text not null);
  insert into past select n, repeat(md5(n::text), 3) from generate_series(1, 50000) n;`;

/** pg_dump of Debian 12 reads no server newer than this. */
const POSTGRES = 15;

export const otherCell = (name: CellName): CellName => (name === 'cell1' ? 'cell2' : 'cell1');

export async function startCells(): Promise<CellsRig> {
  const [directory, carrier, folder] = await Promise.all([
    createTestDatabase({ postgres: POSTGRES }),
    startFakeProvider(),
    mkdtemp(path.join(os.tmpdir(), 'rowpost-cells-')),
  ]);
  const shared = {
    DIRECTORY_URL: directory.url,
    PXADMIN_PASSWORD: 'pxadmin-password',
    MAIL_TRANSPORT: 'sendgrid',
    SENDGRID_BASE_URL: carrier.url,
    STORAGE_URL: `file:${path.join(folder, 'files')}`,
    PG_POOL,
  };
  await command(['directory', 'release'], shared, { CELL: 'none' });
  const [cell1, cell2] = [await openCell('cell1', 0, shared), await openCell('cell2', 1, shared)];
  const cells = { cell1, cell2 };
  await writeFile(path.join(folder, 'tables.sql'), TABLES);
  const shops: CellShop[] = [];
  for (const cell of [cell1, cell2]) {
    await cell.start();
    shops.push(await createShop(cell, path.join(folder, 'tables.sql')));
  }
  return {
    cells,
    directory,
    carrier,
    shops,
    moveEnv: (from) => ({
      ...cells[from].env,
      TARGET_DATABASE_URL: cells[otherCell(from)].testDatabase.url,
    }),
    async stop() {
      await Promise.all([cell1.kill(), cell2.kill()]);
      await carrier.stop();
      for (const database of [cell1.testDatabase, cell2.testDatabase, directory]) await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}

async function openCell(
  name: CellName,
  idRange: number,
  shared: Readonly<Record<string, string>>,
): Promise<Cell> {
  const [testDatabase, port] = await Promise.all([
    createTestDatabase({ postgres: POSTGRES }),
    findFreePort(),
  ]);
  const url = `http://127.0.0.1:${port}`;
  const env = { ...shared, DATABASE_URL: testDatabase.url, CELL: name, CELL_URL: url };
  await command(['release', '--id-range', String(idRange)], env);
  let running: readonly RowpostProcess[] = [];
  return {
    name,
    url,
    testDatabase,
    env,
    async start() {
      const parts = ['relay', ...Array.from({ length: WORKERS }, () => 'worker')];
      running = await Promise.all([
        startProcess(['web'], { ...env, PORT: String(port) }),
        ...parts.map((part) => startProcess([part], env)),
      ]);
    },
    async kill() {
      await Promise.all(running.map((process) => process.kill('SIGKILL')));
    },
  };
}

async function createShop(cell: Cell, tables: string): Promise<CellShop> {
  const root = ['--root-login', 'root', '--root-password', 'root-password'];
  const created = await command(['tenant', 'create', '--name', `shop of ${cell.name}`, ...root], cell.env);
  const { tenantid, root_roleid: roleid } = JSON.parse(created) as { tenantid: number; root_roleid: number };
  await command(['tenant', 'sql', '--tenant', String(tenantid), '-f', tables], cell.env);
  const login = { tenantid, login: 'root', password: 'root-password' };
  const { access_token: token } = (await post(`${cell.url}/auth`, login)) as { access_token: string };
  const control = (query: string, variables = {}): Promise<unknown> =>
    post(`${cell.url}/roles_pbac`, { query, variables }, token);
  await control('mutation { set_email_apikey(apikey: "SG.cells") { apikey } }');
  await control('mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }', {
    input: {
      email_type: 'confirmation',
      subject: `Order {{ records.new.order_id }} of ${tenantid}`,
      sender: 'shop@example.com',
      recipients: ['someone@example.com'],
      template: '<p>{{ found[0].note }}</p>',
      queries: [
        {
          outvar: 'found',
          query: 'query ($filter: String) { orders(filter: $filter) { note } }',
          filter: 'order_id = {{ records.new.order_id }}',
        },
      ],
    },
  });
  await control('mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
    input: {
      name: 'confirm',
      operations: ['insert'],
      targets: ['orders'],
      email_type: 'confirmation',
      query_roleid: roleid,
    },
  });
  return { tenantid, token, home: cell.name };
}

async function command(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runRowpost(args, { ...env, ...more });
  if (code !== 0) throw new Error(`rowpost ${args.join(' ')} exited ${String(code)}:\n${stderr}`);
  return stdout;
}

async function post(url: string, body: unknown, token?: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  const payload = (await response.json()) as { errors?: unknown; error?: unknown };
  if (payload.errors ?? payload.error) throw new Error(`${url} responded ${JSON.stringify(payload)}`);
  return payload;
}
