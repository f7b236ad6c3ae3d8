// A tenant that moves to another cell: how long its writes are refused, by the size of its tables, what the estimate said, and
// how long if the target has followed the tables before.
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory } from '../../src/db/cells/directory/directory.js';
import { followTenant, moveTenantToCell, type MoveEstimate } from '../../src/control/tenants/moveToCell.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../test/support/createTestTenant.js';
import { PREPARED_TEMPLATE } from '../../test/support/preparedCluster.js';
import { runSql } from '../../test/support/runSql.js';
import { startSeparateCluster, type SeparateCluster } from '../../test/support/separateCluster.js';
import { databaseUrl, openTestDatabase } from '../../test/support/templateDatabase.js';
import { testKeyRing, testLog } from '../../test/support/testConfig.js';
import { waitFor } from '../../test/support/waitFor.js';
import { describeMachine } from '../support/report.js';

const ROWS = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 100_000, 1_000_000];
const COPY_TIMEOUT_MS = 600_000;

/** Orders with a key, a reference and two more indexes, 100 bytes each. */
const tables = (rows: number): string => `
  create table customer (id int primary key, name text not null);
  create table orders (
    id bigint generated always as identity primary key, customer_id int not null references customer, placed timestamptz not null,
    amount numeric(12, 2) not null, note text not null);
  create index on orders (customer_id);
  create index on orders (placed);
  insert into customer select n, 'customer ' || n from generate_series(1, 1000) n;
  insert into orders (customer_id, placed, amount, note)
  select 1 + n % 1000, timestamptz '2026-01-01' + n * interval '1 second', n % 10000 / 100.0, md5(n::text) from generate_series(1, ${rows}) n;`;

const seconds = (ms: number | undefined): string => `${((ms ?? NaN) / 1000).toFixed(1)} s`;

const clusters = [await startSeparateCluster(), await startSeparateCluster()] as const;
const [here, there] = clusters;
for (const { url } of clusters) await runSql(url, `create database cell template ${PREPARED_TEMPLATE}`);
await runSql(here.url, 'create database directory');
const endOf = ({ url }: SeparateCluster) => {
  const cell = databaseUrl(url, 'cell');
  return { url: cell, database: openTestDatabase(cell) };
};
const [source, target] = [endOf(here), endOf(there)];
const directory = openDirectory(databaseUrl(here.url, 'directory'), 'bench', testLog);
const deps = { directory, source, target, keyRing: testKeyRing };

/** @returns the id of a new tenant */
async function createShop(name: string, rows: number): Promise<number> {
  const { tenantid } = await createTestTenant(source.database.pool, {
    name,
    rootLogin: 'root',
    rootPassword: 'correct horse',
  });
  await runTenantSql(source.database, { tenantid, sql: tables(rows) });
  return tenantid;
}

/** As docs/how-to/cells.md has it. @returns how long writes are refused */
async function moveFollowed(tenantid: number): Promise<number | undefined> {
  const publication = await followTenant(deps, tenantid, 'cell1');
  const superuser = databaseUrl(there.superuserUrl, 'cell');
  const connection = `host=127.0.0.1 port=${new URL(here.superuserUrl).port} user=postgres dbname=cell`;
  await runSql(
    superuser,
    `create subscription ${publication} connection '${connection}' publication ${publication}`,
  );
  const isCopied = async (): Promise<boolean> => {
    const { rows } = await target.database.pool.query(
      `select from pg_subscription_rel where srsubstate <> 'r'`,
    );
    return rows.length === 0;
  };
  await waitFor('the rows to be copied', isCopied, { timeoutMs: COPY_TIMEOUT_MS, intervalMs: 100 });
  const { pauseMs } = await moveTenantToCell(deps, tenantid, 'cell1');
  await runSql(superuser, `drop subscription ${publication}`);
  return pauseMs;
}

try {
  await migrateDirectory(directory);
  for (const [idRange, { database }] of [source, target].entries()) {
    await joinDirectory(directory, database.pool, {
      name: `cell${idRange}`,
      baseUrl: `http://cell${idRange}.example`,
      idRange,
    });
  }
  console.log(describeMachine());
  console.log(
    '| Rows | MB with indexes | Writes refused | of it, reads too | Estimate | Followed: writes refused |',
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const rows of ROWS) {
    const estimates: MoveEstimate[] = [];
    const { pauseMs, closedMs } = await moveTenantToCell(
      deps,
      await createShop(`copied, ${rows}`, rows),
      'cell1',
      (estimate) => estimates.push(estimate),
    );
    const [{ bytes, pauseMs: estimatedMs } = { bytes: NaN, pauseMs: NaN }] = estimates;
    const followedMs = await moveFollowed(await createShop(`followed, ${rows}`, rows));
    const measured = [pauseMs, closedMs, estimatedMs, followedMs].map(seconds).join(' | ');
    console.log(`| ${rows.toLocaleString('en')} | ${(bytes / 1_000_000).toFixed(1)} | ${measured} |`);
  }
} finally {
  await Promise.all([source.database.close(), target.database.close(), directory.close()]);
  for (const cluster of clusters) await cluster.stop();
}
process.exit(0);
