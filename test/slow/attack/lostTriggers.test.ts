import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { captureTable } from '../../../src/control/utility/capture.js';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';
import { findLostCapture } from '../../../src/db/capture/captureGaps.js';
import { identifier, inOrder, statement } from '../../../src/db/sql/sql.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { CaptureRestorer } from '../../../src/relay/restoreCapture.js';
import type { Logger } from '../../../src/foundation/observability/log.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { seenDuring } from '../../support/seenDuring.js';
import { testLog } from '../../support/testConfig.js';

/** Changes to a table without its triggers are no events. One relay looks for such tables of all tenants, and restores the triggers. */
describe("attack: a tenant keeps others' captured tables without triggers", () => {
  let shop: Shop;
  let other: CreatedTenant;
  before(async () => {
    shop = await openShop('');
    const named = { name: 'other', rootLogin: 'root', rootPassword: 'correct horse' };
    other = await createTestTenant(shop.test.database.pool, named);
    await runTenantSql(shop.test.database, {
      tenantid: other.tenantid,
      sql: 'create table t (id int primary key)',
    });
    await capture(other, 't');
  });
  after(() => shop.close());

  const capture = async ({ tenantid, schema }: CreatedTenant, table: string): Promise<void> => {
    const { database } = shop.test;
    const catalog = await shop.engine.introspect(tenantid, schema);
    await inTransaction(database.pool, (trx) =>
      captureTable(trx, database, { tenantid, catalog, table }, 'all'),
    );
  };
  const lostTenants = async (): Promise<readonly number[]> => {
    const { pool, tenants } = shop.test.database;
    return (await findLostCapture(pool, await tenants.names())).map(({ tenantid }) => tenantid);
  };

  it('by locks on many of its own', async () => {
    const { database } = shop.test;
    const { schema, tenantid } = shop.tenant;
    const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
    await shop.sql(names.map((name) => `create table ${name} (id int primary key);`).join('\n'));
    for (const name of names) await capture(shop.tenant, name);
    const dropping = (of: CreatedTenant, name: string) =>
      statement`drop trigger rowpost_capture_insert on ${identifier(of.schema, name)}`;
    await database.pool.query(
      inOrder([...names.map((name) => dropping(shop.tenant, name)), dropping(other, 't')]),
    );
    const holder = await database.tenants.connectDirectly(tenantid);
    await holder.query(statement`begin`);
    for (const name of names) {
      await holder.query(statement`lock table ${identifier(schema, name)} in access share mode`);
      await holder.query(statement`insert into ${identifier(schema, name)} values (1)`);
    }
    const tried: unknown[] = [];
    const log = Object.assign(Object.create(testLog) as Logger, {
      warn: (line: { readonly tenantid: number }) => tried.push(line.tenantid),
    });
    const restorer = new CaptureRestorer({ database, log }, 0);
    try {
      const waited = await seenDuring(
        database,
        `select relation::text as seen from pg_locks
          where not granted and waitstart < clock_timestamp() - interval '150 ms'`,
        () => restorer.run(),
      );
      // Each of the tables was waited for by itself, for 300 ms.
      expect(waited.size).to.be.below(names.length / 2);
      expect(await lostTenants()).to.deep.equal([tenantid]);
      // What took long is not tried again at once.
      await restorer.run();
      expect(tried).to.deep.equal([tenantid, other.tenantid]);

      // Several tenants may do so: what is quick comes first, and is looked for again after each that took long.
      tried.length = 0;
      const oneARun = new CaptureRestorer({ database, log }, 0, 0);
      const runStartedAtMs = performance.now();
      await oneARun.run();
      const tookMs = performance.now() - runStartedAtMs;
      await database.pool.query(dropping(other, 't'));
      await oneARun.run();
      await database.pool.query(dropping(other, 't'));
      await delay(11 * tookMs);
      expect(await lostTenants()).to.deep.equal([tenantid, other.tenantid]);
      await oneARun.run();
      expect(tried).to.deep.equal([tenantid, other.tenantid, other.tenantid]);
    } finally {
      await holder.end();
    }
  });

  it('by partitions of partitions', async () => {
    const { database } = shop.test;
    const DEPTH = 4_000;
    await shop.sql('create table deep (id int primary key)');
    await capture(shop.tenant, 'deep');
    const nested = Array.from(
      { length: DEPTH },
      (_, level) =>
        `create table deep_${level} partition of ${level === 0 ? 'deep' : `deep_${level - 1}`} for values in (1) partition by list (id);${
          level % 50 === 49 ? 'commit; begin;' : ''
        }`,
    );
    await shop.sql(
      `drop table deep; create table deep (id int) partition by list (id); ${nested.join('\n')}`,
    );
    await runTenantSql(database, {
      tenantid: other.tenantid,
      sql: 'drop trigger if exists rowpost_capture_insert on t',
    });
    // Of the relay's connections, a statement is canceled after 15 s.
    expect(await lostTenants()).to.deep.equal([shop.tenant.tenantid, other.tenantid]);
  });
});
