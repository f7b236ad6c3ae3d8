import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type pg from 'pg';
import { releaseInstallation } from '../../../src/commands/release.js';
import { PATIENCE, ServerGuard, withoutHolders } from '../../../src/db/isolation/serverGuard.js';
import { migrate } from '../../../src/db/schema/migrate.js';
import { identifier, sql, statement, type SqlText } from '../../../src/db/sql/sql.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { PXADMIN_PASSWORD } from '../../api/webFixture.js';
import type { Installation } from '../../../src/process/compose.js';
import { testConfig, testLog } from '../../support/testConfig.js';

/** A tenant may lock rows of the catalog by what has no effect, and keep its transaction open. */
describe('attack: a tenant that holds what an upgrade changes', () => {
  let shop: Shop;
  let directory: string;
  before(async () => {
    shop = await openShop('create table note (id int primary key)');
    directory = await mkdtemp(path.join(os.tmpdir(), 'rowpost-migrations-'));
    await writeFile(
      path.join(directory, '0002_later.js'),
      `exports.up = (knex) => knex.raw("alter function rowpost_tenant.record_file set timezone = 'UTC'");
       exports.down = () => Promise.reject(new Error('Migrations go forward only.'));`,
    );
  });
  after(async () => {
    await shop.close();
    await rm(directory, { recursive: true });
  });

  async function holding(...held: readonly SqlText[]): Promise<pg.Client> {
    const holder = await shop.test.database.tenants.connectDirectly(shop.tenant.tenantid);
    holder.on('error', () => undefined);
    for (const each of held) await holder.query(each);
    return holder;
  }

  function installationWith(settle: (tenantid: number, schema: string) => Promise<void>): Installation {
    const { database, url } = shop.test;
    const tenants = { names: () => database.tenants.names(), settle };
    return {
      database: { ...database, tenants },
      log: testLog,
      config: testConfig({ DATABASE_URL: url }),
      pxadminPassword: PXADMIN_PASSWORD,
    } as unknown as Installation;
  }

  it('does not stop a migration', async () => {
    const { database } = shop.test;
    const holder = await holding(
      statement`begin`,
      statement`revoke execute on function rowpost_tenant.record_file from public`,
    );
    const patience = { ...PATIENCE, serviceMs: 300 };
    const guard = new ServerGuard(database.createClient, () => database.tenants.names(), patience);
    const failures: unknown[] = [];
    const migrated = migrate(database.pool, {
      patienceMs: 8_000,
      directory,
      insist: (migration) => withoutHolders(guard, (error) => failures.push(error), migration),
    });
    // Whoever is quick may end in time.
    const alive = await holder.query(statement`select pg_sleep(2)`);
    expect(alive.rowCount).to.equal(1);
    expect(await migrated).to.deep.equal(['0002_later.js']);
    expect(failures).to.deep.equal([]);
    await holder.end();
  });

  it('does not stop the release', async () => {
    const { database } = shop.test;
    const { tenantid } = shop.tenant;
    const other = await createTestTenant(database.pool, {
      name: 'other',
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    const names = await database.tenants.names();
    const { rows } = await database.pool.query<{ name: string }>('select current_database() as name');
    const role = identifier(names.tenant(tenantid));
    const settings = sql`alter role ${role} in database ${identifier(rows[0]!.name)}`;
    // Without its search path, which the service then sets again.
    const holder = await holding(
      statement`${settings} reset all`,
      statement`begin`,
      statement`${settings} set work_mem = '1MB'`,
    );
    const settled: number[] = [];
    await releaseInstallation(
      installationWith(async (id, schema) => {
        await database.tenants.settle(id, schema);
        settled.push(id);
      }),
    );
    expect(settled).to.have.members([tenantid, other.tenantid]);
    const isAlive = await holder.query(statement`select`).then(
      () => true,
      () => false,
    );
    expect(isAlive).to.equal(false);
    await holder.end();
  });

  it('nor does a tenant that can not be settled', async () => {
    const { database } = shop.test;
    await releaseInstallation(
      installationWith(async (id, schema) => {
        if (id === shop.tenant.tenantid) throw new Error('canceling statement due to statement timeout');
        await database.tenants.settle(id, schema);
      }),
    );
  });
});
