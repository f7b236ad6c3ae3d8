// A tenant that moves to another cell: how long its writes are refused, by the size of its tables, and what the estimate said.
import { joinDirectory } from '../../src/db/cells/directory/cells.js';
import { migrateDirectory, openDirectory } from '../../src/db/cells/directory/directory.js';
import { moveTenantToCell, type MoveEstimate } from '../../src/control/tenants/moveToCell.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../test/support/createTestTenant.js';
import { testKeyRing, testLog } from '../../test/support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../../test/support/testDatabase.js';
import { describeMachine } from '../support/report.js';

const ROWS = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1_000, 100_000, 1_000_000];
/** pg_dump of Debian 12 reads no server newer than this. */
const POSTGRES = 15;

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

const seconds = (ms: number | undefined): string => ((ms ?? NaN) / 1000).toFixed(1);

const databases = await Promise.all([1, 2, 3].map(() => createTestDatabase({ postgres: POSTGRES })));
const [source, target, third] = databases as [TestDatabase, TestDatabase, TestDatabase];
const directory = openDirectory(third.url, 'bench', testLog);
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
  console.log('| Rows | MB with indexes | Writes refused | of it, reads too | Estimate |');
  console.log('| --- | --- | --- | --- | --- |');
  for (const rows of ROWS) {
    const { tenantid } = await createTestTenant(source.database.pool, {
      name: `shop of ${rows}`,
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(source.database, { tenantid, sql: tables(rows) });
    const deps = { directory, source, target, keyRing: testKeyRing };
    const estimates: MoveEstimate[] = [];
    const { pauseMs, closedMs } = await moveTenantToCell(deps, tenantid, 'cell1', (estimate) =>
      estimates.push(estimate),
    );
    const [{ bytes, pauseMs: estimatedMs } = { bytes: NaN, pauseMs: NaN }] = estimates;
    const megabytes = (bytes / 1_000_000).toFixed(1);
    console.log(
      `| ${rows.toLocaleString('en')} | ${megabytes} | ${seconds(pauseMs)} s | ${seconds(closedMs)} s | ${seconds(estimatedMs)} s |`,
    );
  }
} finally {
  await directory.close();
  await Promise.all(databases.map((one) => one.drop()));
}
process.exit(0);
