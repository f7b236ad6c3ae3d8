import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { PATIENCE, ServerGuard } from '../../../src/db/isolation/serverGuard.js';
import type { Database } from '../../../src/db/pool/database.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { openRecipes, type Recipes } from '../../processes/recipes.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { PREPARED_TEMPLATE } from '../../support/preparedCluster.js';
import { runSql } from '../../support/runSql.js';
import { startSeparateCluster, type SeparateCluster } from '../../support/separateCluster.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';

/** Debian's package `postgresql-client` has it; that of version 15 can't dump a newer server. */
const HAS_PG_DUMP = spawnSync('pg_dump', ['--version']).status === 0;

const TABLE = 'create table note (id int primary key); insert into note values (1)';

/** What keeps other roles than superusers from reading. */
const REFUSALS = {
  'a table': `${TABLE}; revoke all on note from current_user`,
  'rows, by policies': `${TABLE}; alter table note enable row level security, force row level security`,
  'a sequence': 'create sequence s; revoke all on s from current_user',
  'its schema': `${TABLE};
    do $$ begin execute format('revoke usage on schema %I from %I', current_schema, current_user); end $$`,
  'a large object': `do $$ begin
    execute format('revoke all on large object %s from %I', lo_from_bytea(0, 'x'), current_user); end $$`,
};

if (HAS_PG_DUMP) {
  /** As the service's role, the dump of all tenants failed, whichever of them did one of these. */
  describe('attack: a tenant that lets nobody read what it has, and a backup of all', () => {
    let recipes: Recipes;
    let cluster: SeparateCluster;
    let database: Database;
    let urls: Readonly<Record<string, string>>;
    before(async () => {
      recipes = await openRecipes('docs/how-to/backup.md');
      cluster = await startSeparateCluster();
      await runSql(cluster.url, `create database service template ${PREPARED_TEMPLATE}`);
      database = openTestDatabase(databaseUrl(cluster.url, 'service'));
      const admin = databaseUrl(cluster.superuserUrl, 'service');
      const backup = Object.assign(new URL(admin), {
        username: 'rowpost_backup',
        password: 'of backups',
      }).href;
      urls = { ADMIN_URL: admin, BACKUP_URL: backup, BACKUP_PASSWORD: 'of backups' };
      const { code, output } = await recipes.run(['backup role'], urls);
      expect(code, output).to.equal(0);
    });
    after(async () => {
      await database.close();
      await cluster.stop();
      await rm(recipes.folder, { recursive: true });
    });

    const root = { rootLogin: 'root', rootPassword: 'correct horse battery' };
    for (const [what, sql] of Object.entries(REFUSALS)) {
      it(`is made, whoever may read ${what}`, async () => {
        const { tenantid, schema } = await createTestTenant(database.pool, { ...root, name: what });
        await runTenantSql(database, { tenantid, sql });
        const url = databaseUrl(cluster.url, 'service');
        const options = ['--blobs', `--schema=${schema}`, '--file=/dev/null', url];
        expect(spawnSync('pg_dump', options).stderr.toString()).to.match(
          /permission denied|row-level security/,
        );
        const { code, output } = await recipes.run(['dump'], urls);
        expect(code, output).to.equal(0);
      });
    }

    it('is restored', async () => {
      await runSql(cluster.url, 'create database restored');
      const url = databaseUrl(cluster.url, 'restored');
      const env = { ...urls, NEW_DATABASE_URL: url, PXADMIN_PASSWORD: 'installation root' };
      const { code, output } = await recipes.run(['restore', 'release'], {
        ...env,
        MAIL_TRANSPORT: 'mailbox',
      });
      expect(output).to.not.include('failed');
      expect(code, output).to.equal(0);
      const restored = openTestDatabase(url);
      const { rows } = await restored.pool.query<{ schema: string }>(
        'select table_schema as schema from information_schema.tables where table_name = $1 order by 1',
        ['note'],
      );
      await restored.close();
      expect(rows).to.have.length(3);
    });

    it('does not wait for its locks', async () => {
      const { tenantid, schema } = await createTestTenant(database.pool, { ...root, name: 'locked' });
      await runTenantSql(database, { tenantid, sql: TABLE });
      const holder = await database.tenants.connectDirectly(tenantid);
      holder.on('error', () => undefined);
      await holder.query(`begin; lock table ${schema}.note in access exclusive mode`);
      const dump = spawn('pg_dump', ['--schema-only', '--file=/dev/null', urls['BACKUP_URL']!]);
      const ended = once(dump, 'exit').then(([status]) => status as number);
      const patience = { ...PATIENCE, autovacuumMs: 500 };
      const guard = new ServerGuard(database.createClient, () => database.tenants.names(), patience);
      const sessions: string[] = [];
      let status: number | undefined;
      do sessions.push(...(await guard.endHoldingSessions()).map(({ role }) => role));
      while ((status = await Promise.race([ended, delay(100, undefined)])) === undefined);
      await guard.close();
      await holder.end().catch(() => undefined);
      expect(status).to.equal(0);
      expect(sessions).to.deep.equal([(await database.tenants.names()).tenant(tenantid)]);
    });
  });
}
