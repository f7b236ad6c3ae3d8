import { expect } from 'chai';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { seenDuring } from '../../support/seenDuring.js';
import { onFixture, openFileShop, sweepNow, type FileShop } from '../../files/fileShop.js';
import { textAt } from '../../api/webFixture.js';

/** What the owner of a table with files may do to it, or put in its place. */
const UNREADABLE = {
  'may not be read any more': 'revoke all on doc from current_user',
  'became a view that fails': `
    alter table doc rename to old_doc;
    create function fail() returns int language plpgsql as $$ begin raise exception 'no'; end $$;
    create view doc as select id + fail() as id, title, document from old_doc`,
  'became a view that ends the session': `
    alter table doc rename to old_doc;
    create view doc as select * from old_doc where pg_terminate_backend(pg_backend_pid())`,
};

describe("attack: tables that stop the sweep of all tenants' files", () => {
  let shop: FileShop;
  beforeEach(async () => {
    shop = await openFileShop();
  });
  afterEach(() => shop.close());

  const asTenant = (sql: string): Promise<unknown> =>
    runTenantSql(shop.fixture.testDatabase.database, { tenantid: shop.tenantid, sql });

  for (const [what, sql] of Object.entries(UNREADABLE)) {
    it(`one that ${what}`, async () => {
      await shop.store('kept.txt', 'kept');
      const { storagekey } = await shop.store('gone.txt', 'gone', 2);
      await asTenant(sql);
      await shop.fixture.testDatabase.database.pool.query(
        `with gone as (delete from rowpost.file where storagekey = $1 returning objectkey)
         insert into rowpost.file_object (objectkey, due) select objectkey, now() from gone`,
        [storagekey],
      );
      await sweepNow(shop);
      expect(await shop.objects(), 'all but the deleted file').to.have.length(1);
    });
  }

  it('several slow ones of a tenant are left to a later run after the first', async () => {
    const tables = ['one', 'two', 'three', 'four'];
    await asTenant(
      tables
        .map((name) => `create table ${name} (id int primary key, f text); insert into ${name} values (1);`)
        .join('\n'),
    );
    await shop.fixture.control(shop.root, '{ Utility { introspect { gql } } }');
    for (const name of tables) {
      const set = `mutation { Utility { set_file_table(table_name: "${name}", column_name: "f") { table_name } } }`;
      expect((await shop.fixture.control(shop.root, set)).errors).to.equal(undefined);
      const promised = await shop.data(
        `mutation { upload: upload_${name}(id: 1, input: { filename: "a.txt" }) { upload_url } }`,
      );
      const url = onFixture(shop.fixture, textAt(promised, 'upload.upload_url'));
      expect((await shop.put(url, 'text')).status).to.equal(201);
    }
    await asTenant(
      tables
        .map(
          (name) => `alter table ${name} rename to old_${name};
            create view ${name} as select * from old_${name} where pg_sleep(1.5) is not null;`,
        )
        .join('\n'),
    );
    const slept = await seenDuring(
      shop.fixture.testDatabase.database,
      `select query as seen from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      () => sweepNow(shop),
    );
    expect(slept).to.have.property('size', 1);
  });
});
