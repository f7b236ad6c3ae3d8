import { expect } from 'chai';
import { FileSweeper } from '../../../src/relay/sweepFiles.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { testLog } from '../../support/testConfig.js';
import { openStorage } from '../../../src/files/storage/openStorage.js';
import { openFileShop, type FileShop } from '../../files/fileShop.js';

/** PostgreSQL stores a key of a hundred million equal characters as one of a million. */
describe("attack: keys of files that are too long together for the sweep of all tenants' files", () => {
  let shop: FileShop;
  before(async () => {
    shop = await openFileShop();
  });
  after(() => shop.close());

  it('are refused', async () => {
    await shop.store('a.txt', 'text');
    const capture = 'mutation { Utility { set_capture(table_name: "doc", writers: all) { table_name } } }';
    expect((await shop.fixture.control(shop.root, capture)).errors).to.equal(undefined);
    const sql = `select rowpost_tenant.capture_file_row_change(0, 'update', 'doc',
      json_build_object('id', repeat('x', 2000000)), null, null, 'doc', '{"id": 1}')`;
    const { database } = shop.fixture.testDatabase;
    const failure = await runTenantSql(database, { tenantid: shop.tenantid, sql }).then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );
    expect(failure).to.contain('a value has more than 1048576 bytes');
  });

  it('are read in parts', async () => {
    const { database } = shop.fixture.testDatabase;
    const { storagekey } = await shop.store('gone.txt', 'text', 2);
    await database.pool.query(
      `insert into rowpost.file (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
       select lpad(to_hex(n), 32, '0')::uuid, f.tenantid, 'plain', jsonb_build_object('id', n || repeat('x', 1000000)), 1, 'x', 'x', 1, f.sha256, n, f.roleid
       from rowpost.file f cross join generate_series(1, 150) n where f.storagekey = $1`,
      [storagekey],
    );
    await shop.sql('delete from doc where id = 2');
    const storage = openStorage(shop.fixture.config);
    const sweeper = new FileSweeper({ database, storage, log: testLog, orphanGraceSeconds: 0 });
    let sweeps = 0;
    for (let left = 1; left > 0 && sweeps < 100; sweeps++) {
      await sweeper.sweep();
      const { rows } = await database.pool.query('select from rowpost.file where storagekey = $1', [
        storagekey,
      ]);
      left = rows.length;
    }
    expect(sweeps).to.be.within(2, 50);
  });
});
