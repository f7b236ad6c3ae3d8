import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestTenant } from '../support/createTestTenant.js';
import { missingRights } from '../../src/db/isolation/rights.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/**
 * PostgreSQL shows when a transaction began only to roles with the rights of its login. A service without them took the shared
 * login's open transactions for ended, and those ran what a script created meanwhile.
 */
describe('attack: transactions of the shared login that the service does not see', () => {
  for (const [postgres, withhold, restore] of [
    [15, 'alter role rowpost noinherit', 'alter role rowpost inherit'],
    [18, 'grant $roles to rowpost with inherit false', 'grant $roles to rowpost with inherit true'],
  ] as const) {
    describe(`PostgreSQL ${postgres}`, () => {
      let test: TestDatabase;
      before(async () => (test = await createTestDatabase({ postgres })));
      after(() => test.drop());

      it('are waited for before a script runs, or it does not run', async () => {
        const { pool, tenants } = test.database;
        const named = { name: 'shop', rootLogin: 'root', rootPassword: 'correct horse' };
        const { tenantid, schema } = await createTestTenant(pool, named);
        await tenants.settle(tenantid, schema);
        expect(tenants.loginOf(tenantid)).to.equal('shared');
        const names = await tenants.names();
        const roles = `${names.shared}, ${names.tenant(tenantid)}`;
        await pool.query(withhold.replace('$roles', roles));
        const lease = await tenants.acquire(tenantid);
        try {
          await lease.client.query(`begin; set local role ${names.tenant(tenantid)}`);
          const create = `create function ${schema}.f() returns text language sql return session_user::text`;
          let failure: Error | undefined;
          const changed = tenants
            .changeSchema(tenantid, (client) => client.query(create))
            .catch((error: unknown) => {
              failure = error as Error;
            });
          await Promise.race([changed, delay(500)]);
          const run = await lease.client.query(`select ${schema}.f()`).catch((error: unknown) => error);
          expect(run).to.have.property('code', '42883');
          await lease.client.query('rollback');
          await changed;
          if (postgres === 15) {
            expect(failure?.message).to.include("can't see its transactions");
            expect((await missingRights(pool)).join()).to.include('alter role "rowpost" inherit');
          } else expect(failure).to.equal(undefined);
        } finally {
          lease.release(true);
          await pool.query(restore.replace('$roles', roles));
        }
        expect(await missingRights(pool)).to.deep.equal([]);
      });
    });
  }
});
