import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { writeArchive } from '../../../../../src/control/tenants/tablesArchive.js';
import { UsageError } from '../../../../../src/foundation/errors.js';
import { runTenantSql } from '../../../../../src/db/tenants/tenantSql.js';
import { createTestTenant } from '../../../../support/createTestTenant.js';
import { createTestDatabase, type TestDatabase } from '../../../../support/testDatabase.js';

if (spawnSync('pg_dump', ['--version']).status === 0) {
  describe("an archive of a tenant's tables", function () {
    this.timeout(120_000);
    let original: TestDatabase;
    let folder: string;
    before(async () => {
      original = await createTestDatabase({ postgres: 15 });
      folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-archive-'));
    });
    after(async () => {
      await original.drop();
      await rm(folder, { recursive: true });
    });

    it('does not wait without end for a session that locks one of them', async () => {
      const { database, url } = original;
      const root = { rootLogin: 'root', rootPassword: 'correct horse battery' };
      const tenant = await createTestTenant(database.pool, { ...root, name: 'shop' });
      await runTenantSql(database, { tenantid: tenant.tenantid, sql: 'create table orders (id int)' });
      const holder = await database.tenants.connectDirectly(tenant.tenantid);
      try {
        await holder.query('begin; set local statement_timeout = 0');
        await holder.query(`lock table ${tenant.schema}.orders`);
        const held = holder.query('select pg_sleep(600)').catch(() => undefined);
        const failure: unknown = await writeArchive(
          { database, url },
          tenant,
          path.join(folder, 'tables'),
        ).catch((error: unknown) => error);
        expect(failure).to.be.instanceOf(UsageError);
        expect((failure as Error).message).to.match(/LOCK TABLE .*orders/);
        await database.pool.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'",
        );
        await held;
      } finally {
        await holder.end();
      }
    });
  });
}
