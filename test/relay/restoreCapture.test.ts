import { expect } from 'chai';
import { adoptTenant } from '../../src/control/tenants/tenants.js';
import { captureTable } from '../../src/control/utility/capture.js';
import { findLostCapture } from '../../src/db/capture/captureGaps.js';
import { readCapture } from '../../src/db/capture/capture.js';
import { tablesNotCaptured } from '../../src/foundation/observability/metrics.js';
import { CaptureRestorer } from '../../src/relay/restoreCapture.js';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';
import { testLog } from '../support/testConfig.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

/** What a migration does to a captured table `t`, and how its new rows are written. */
const MIGRATIONS: Readonly<Record<string, readonly [ddl: string, insert: string]>> = {
  'drops it and creates it again': [
    'drop table t; create table t (id int primary key)',
    'insert into t values (1)',
  ],
  'replaces it by a partitioned one': [
    'drop table t; create table t (id int primary key) partition by range (id); create table t_1 partition of t for values from (0) to (10)',
    'insert into t_1 values (1)',
  ],
  'adds a partition': [
    'create table t_2 partition of t for values from (10) to (20)',
    'insert into t_2 values (11)',
  ],
  'swaps it with another': [
    'create table t_new (id int primary key); alter table t rename to t_old; alter table t_new rename to t',
    'insert into t values (1)',
  ],
  'drops a trigger': ['drop trigger rowpost_capture_insert on t', 'insert into t values (2)'],
};

describe('captured tables that a migration changes while nobody uses the API', () => {
  let fixture: CaptureFixture;
  let restorer: CaptureRestorer;
  before(async () => {
    fixture = await openCaptureFixture('create table t (id int primary key)', ['t']);
    const { database } = fixture.shop.test;
    restorer = new CaptureRestorer({ database, log: testLog });
    await restorer.run();
  });
  after(() => fixture.close());

  const uncaptured = async (): Promise<number> => (await tablesNotCaptured.get()).values[0]?.value ?? NaN;
  const problems = async (): Promise<readonly string[]> => {
    const { shop } = fixture;
    const table = (await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema)).tables.get('t');
    return (await readCapture(shop.test.database.pool, shop.tenant.tenantid, table!)).problems;
  };

  for (const [what, [ddl, insert]] of Object.entries(MIGRATIONS)) {
    it(`are captured again after one ${what}`, async () => {
      const { pool, tenants } = fixture.shop.test.database;
      // Not by `rowpost tenant sql`, which reads the tables.
      await fixture.writer.query(ddl);
      await fixture.events();
      const [lost] = await findLostCapture(pool, await tenants.names());
      expect(lost).to.deep.include({ tenantid: fixture.shop.tenant.tenantid, tables: ['t'] });
      await pool.query(`update rowpost.capture_check set time = '2026-01-02T03:04:05Z'`);
      await new CaptureRestorer({ database: fixture.shop.test.database, log: testLog }).run();
      expect(await uncaptured()).to.equal(0);
      await fixture.writer.query(insert);
      expect(await fixture.events()).to.have.length(1);
      expect((await problems())[0]).to.match(
        /^Changes by SQL were not captured from 2026-01-02T03:04:05.* until 20/,
      );
    });
  }

  it('are told of while they can not be', async () => {
    const { writer, shop } = fixture;
    await writer.query('drop table t; create table t (id int primary key)');
    const holder = await fixture.connect();
    await holder.query('begin; insert into t values (1)');
    await restorer.run();
    expect(await uncaptured()).to.equal(1);
    const { rows } = await shop.test.database.pool.query(
      'select until from rowpost.capture_gap where until is null',
    );
    expect(rows).to.have.length(1);
    await holder.query('rollback');
    await new CaptureRestorer({ database: shop.test.database, log: testLog }).run();
    expect(await uncaptured()).to.equal(0);
  });

  it('are served and captured again after their schema was dropped', async () => {
    const { writer, shop } = fixture;
    const { database } = shop.test;
    await writer.query('create schema app; create table app.kept (id int primary key)');
    const adopted = await adoptTenant(database.pool, {
      name: 'app',
      rootLogin: 'root',
      rootPassword: 'correct horse',
      schema: 'app',
    });
    const { tenantid } = adopted;
    const catalog = await shop.engine.introspect(tenantid, 'app');
    await inTransaction(database.pool, (trx) =>
      captureTable(trx, database, { tenantid, catalog, table: 'kept' }, 'all'),
    );
    await writer.query(
      'drop schema app cascade; create schema app; create table app.kept (id int primary key); create table app.other (id int primary key)',
    );
    await restorer.run();
    expect(await findLostCapture(database.pool, await database.tenants.names())).to.deep.equal([]);
    await fixture.events();
    await writer.query('insert into app.kept values (1)');
    expect((await fixture.events()).map(({ tenantid: id, target }) => [id, target])).to.deep.equal([
      [tenantid, 'kept'],
    ]);
    const role = (await database.tenants.names()).tenant(tenantid);
    await writer.query('create table app.later (id int primary key)');
    const { rows } = await writer.query(
      `select has_schema_privilege($1, 'app', 'usage') and has_table_privilege($1, 'app.other', 'insert') and has_table_privilege($1, 'app.later', 'insert') as ok`,
      [role],
    );
    expect(rows).to.deep.equal([{ ok: true }]);
  });
});
