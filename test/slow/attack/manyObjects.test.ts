import { expect } from 'chai';
import { deleteTenant } from '../../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import type { AppError } from '../../../src/foundation/errors.js';
import { documentedScript } from '../../support/documentedScript.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

/** PostgreSQL takes a lock for each object that it drops: to delete such a tenant failed, and the writes of others at that time too. */
describe('attack: a tenant with more objects than PostgreSQL has locks', () => {
  let test: TestDatabase;
  before(async () => (test = await createTestDatabase()));
  after(() => test.drop());

  for (const [what, create, drop] of [
    [
      'tables',
      `do $$ begin for i in 1..3000 loop execute format('create table $.t%s (id int)', i); end loop; end $$`,
      undefined,
    ],
    [
      'collations',
      `do $$ begin for i in 1..9000 loop execute format('create collation $.c%s from "C"', i); end loop; end $$`,
      `do $$ begin
         for i in 1..9000 loop
           execute format('drop collation if exists $.c%s', i);
           if i % 2000 = 0 then commit; end if;
         end loop;
       end $$`,
    ],
    [
      'large objects',
      'select count(lo_create(0)) from generate_series(1, 30000)',
      `select count(lo_unlink(oid)) from (select oid from pg_largeobject_metadata
         where lomowner = current_user::regrole limit 4000) o`,
    ],
  ] as const) {
    it(`is not deleted before most of its ${what} are dropped`, async () => {
      const { pool, tenants } = test.database;
      const named = { name: what, rootLogin: 'root', rootPassword: 'correct horse' };
      const { tenantid, schema } = await createTestTenant(pool, named);
      const session = await tenants.connectDirectly(tenantid);
      try {
        await session.query("set statement_timeout = '60s'");
        await session.query(create.replace('$.', `${schema}.`));
        const failure = await inTransaction(pool, (tx) => deleteTenant(tx, tenantid)).catch(
          (error: unknown) => error as AppError,
        );
        expect(failure).to.have.property('code', 'SCHEMA_TOO_LARGE');
        if (drop === undefined)
          await runTenantSql(test.database, {
            tenantid,
            sql: documentedScript('how-to/monitor.md', 'tables'),
          });
        else
          for (let part = 0; part < (what === 'large objects' ? 8 : 1); part++)
            await session.query(drop.replace('$.', `${schema}.`));
      } finally {
        await session.end();
      }
      await inTransaction(pool, (tx) => deleteTenant(tx, tenantid));
    });
  }
});
