import { expect } from 'chai';
import pg from 'pg';
import { createTestTenant } from '../support/createTestTenant.js';
import { waitFor } from '../support/waitFor.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

/** A tenant may change its own role, and keep that change open: nobody else may wait for it. */
describe('a tenant that changes its own login', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table notes (id int primary key)')));
  after(() => shop.close());

  it('holds up no other tenant', async () => {
    const { database, url } = shop.test;
    const { tenantid } = shop.tenant;
    const role = (await database.tenants.names()).tenant(tenantid);
    const hostile = new pg.Client({ connectionString: url });
    const witness = new pg.Client({ connectionString: url });
    await Promise.all([hostile.connect(), witness.connect()]);
    try {
      // What its script does by `alter role current_user`.
      await hostile.query(`alter role "${role}" password 'other'`);
      await hostile.query(`begin; alter role "${role}" password 'another'`);
      const refused = database.tenants
        .changeSchema(tenantid, () => Promise.resolve())
        .then(
          () => undefined,
          (error: unknown) => error,
        );
      await waitFor('the service to wait for the role', async () => {
        const { rowCount } = await witness.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return (rowCount ?? 0) > 0;
      });
      // It takes the lock that this one would take.
      await witness.query(
        'begin; lock table rowpost.provisioning_lock in share update exclusive mode nowait; rollback',
      );
      await createTestTenant(database.pool, {
        name: 'other',
        rootLogin: 'root',
        rootPassword: 'correct horse',
      });
      expect(await refused).to.be.instanceOf(Error);
      await hostile.query('rollback');
      await database.tenants.changeSchema(tenantid, () => Promise.resolve());
    } finally {
      await Promise.all([hostile.end(), witness.end()]);
    }
  });
});
