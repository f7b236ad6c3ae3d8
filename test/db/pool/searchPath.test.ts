import { expect } from 'chai';
import type pg from 'pg';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const PINNED = 'search_path=pg_catalog, pg_temp';

describe('names without a schema', () => {
  let test: TestDatabase;
  let tenant: CreatedTenant;
  before(async () => {
    test = await createTestDatabase();
    tenant = await createTestTenant(test.database.pool, {
      name: 'own',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
  });
  after(() => test.drop());

  const pathOf = async (client: pg.Pool | pg.ClientBase): Promise<unknown> =>
    (await client.query<{ path: string }>("select current_setting('search_path') as path")).rows[0]?.path;

  it('mean the same in every session of the service', async () => {
    const { database } = test;
    expect(await pathOf(database.pool)).to.equal('pg_catalog, pg_temp');
    expect(await pathOf(database.ledgerPool)).to.equal('pg_catalog, pg_temp');
    const listener = database.createClient();
    await listener.connect();
    expect(await pathOf(listener)).to.equal('pg_catalog, pg_temp');
    await listener.end();
    const lease = await database.tenants.acquireShared();
    expect(await pathOf(lease.client)).to.equal('pg_catalog, pg_temp');
    // What cleans a session for the next tenant.
    await lease.client.query('select rowpost_tenant.clean_session()');
    expect(await pathOf(lease.client)).to.equal('pg_catalog, pg_temp');
    lease.release(true);
    const queue = database.openQueuePool();
    expect(await pathOf(queue)).to.equal('bullmq,pg_temp');
    await queue.end();
  });

  it("mean what they mean to the schema's owner in a tenant's own session", async () => {
    const { tenants } = test.database;
    await tenants.settle(tenant.tenantid, tenant.schema);
    const client = await tenants.connectDirectly(tenant.tenantid);
    expect(await pathOf(client)).to.equal(`${tenant.schema}, "$user", public`);
    await client.end();
  });

  it('mean the same in all functions that run with the rights of others, and in triggers', async () => {
    const { rows } = await test.database.pool.query<{ name: string }>(
      `select p.oid::regprocedure::text as name from pg_proc p
       where pronamespace in ('rowpost'::regnamespace, 'rowpost_tenant'::regnamespace, 'bullmq'::regnamespace)
         and (prosecdef or prorettype = 'trigger'::regtype) and not coalesce(proconfig, '{}') @> array[$1]`,
      [PINNED],
    );
    expect(rows).to.deep.equal([]);
  });

  it('mean the same in all other functions of the service, as far as their text is read when they run', async () => {
    const { rows } = await test.database.pool.query<{ name: string }>(
      `select p.oid::regprocedure::text as name from pg_proc p
       where pronamespace in ('rowpost'::regnamespace, 'rowpost_tenant'::regnamespace)
         and prosqlbody is null and not coalesce(proconfig, '{}') @> array[$1]`,
      [PINNED],
    );
    // It resets all settings, in sessions of the shared login, and names the schema of what it calls.
    expect(rows).to.deep.equal([{ name: 'rowpost_tenant.clean_session()' }]);
  });
});
