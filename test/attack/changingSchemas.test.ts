import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { CatalogStore } from '../../src/db/catalog/catalogStore.js';
import { divideConnections } from '../../src/db/pool/connectionBudget.js';
import { createTestTenant } from '../support/createTestTenant.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

/** Reads of 20,000 columns took three seconds each. A lock makes them wait as long as the test needs. */
describe('attack: tenants that change large schemas all the time', () => {
  const budget = divideConnections(24, 'web', false);
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase({ budget });
  });
  after(() => db.drop());

  it('leave connections of the service for signing in and reading roles', async () => {
    const { pool, tenants, createClient } = db.database;
    const changing = [];
    for (let n = 0; n < budget.service + 2; n++) {
      const root = { rootLogin: 'root', rootPassword: 'correct horse battery' };
      changing.push(await createTestTenant(pool, { ...root, name: `changing${n}` }));
    }
    const store = new CatalogStore({ pool, tenants, log: testLog, checkMs: 0 });
    const [holder, watch] = [createClient(), createClient()];
    await Promise.all([holder.connect(), watch.connect()]);
    try {
      await holder.query('begin; lock table rowpost.tenant_access');
      const reads = changing.map(({ tenantid, schema }) => store.get(tenantid, schema));
      await waitFor('as many reads as may be', async () => {
        const { rowCount } = await watch.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return (rowCount ?? 0) >= budget.service - 2;
      });
      const got = pool.query('select').then(() => 'got');
      const outcome = await Promise.race([got, delay(1_000, 'waits')]);
      await holder.query('rollback');
      expect(outcome).to.equal('got');
      expect((await Promise.all(reads)).map(({ schema }) => schema)).to.deep.equal(
        changing.map(({ schema }) => schema),
      );
    } finally {
      await Promise.all([holder.end(), watch.end()]);
    }
  });
});
