import { expect } from 'chai';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { at } from '../../api/webFixture.js';
import { openFileShop, sweepNow, type FileShop } from '../../files/fileShop.js';

/** A cascade deletes a row, but not its files, which stay for a while under the key that it had. */
describe('attack: a row takes the key of another whose files are left', () => {
  let shop: FileShop;
  beforeEach(async () => {
    shop = await openFileShop();
    await shop.sql(`
      create table folder (id int primary key);
      insert into folder values (1);
      alter table doc add folder int references folder on delete cascade;
      insert into doc (id, folder) values (7, 1)`);
    shop.fixture.engine.forget(shop.tenantid);
    await shop.store('secret.txt', 'secret', 7);
    await shop.data('mutation { delete_folder(id: 1) { id } }');
  });
  afterEach(() => shop.close());

  for (const [way, mutation] of [
    ['is created', 'create_doc(input: { id: 7 })'],
    ['is one of many', 'create_many_doc(input: [{ id: 7 }])'],
    ['changes its key', 'update_doc(id: 3, input: { id: 7 })'],
    ['is created or updated', 'create_doc(input: { id: 7 }, onconflict: update)'],
  ] as const) {
    it(`when it ${way}, it gets none of them`, async () => {
      const { taken } = await shop.data(`mutation { taken: ${mutation} { id thefiles { filename } } }`);
      expect([taken].flat()).to.deep.equal([{ id: '7', thefiles: [] }]);
      expect(await shop.files(7)).to.deep.equal([]);
    });
  }

  it('its own files come along', async () => {
    await shop.store('own.txt', 'own', 3);
    const moved = await shop.data(
      'mutation { update_doc(id: 3, input: { id: 7 }) { thefiles { filename } } }',
    );
    expect(at(moved, 'update_doc.thefiles')).to.deep.equal([{ filename: 'own.txt' }]);
  });
});

describe('attack: a script promises very many uploads', () => {
  it('which are forgotten in parts', async () => {
    const shop = await openFileShop();
    const { database } = shop.fixture.testDatabase;
    await runTenantSql(database, {
      tenantid: shop.tenantid,
      sql: `select count(*) from generate_series(1, 120000),
        lateral rowpost_tenant.promise_upload(1, 'doc', '{"id": 1}', null, 'a', null, null, -200000 - generate_series)`,
    });
    const count = async (): Promise<unknown> =>
      (await shop.rows<{ n: number }>('select count(*)::int as n from rowpost.upload'))[0]?.n;
    await sweepNow(shop);
    expect(await count()).to.equal(20_000);
    await sweepNow(shop);
    expect(await count()).to.equal(0);
    await shop.close();
  });
});
