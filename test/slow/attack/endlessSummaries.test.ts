import { expect } from 'chai';
import { createTestTenant } from '../../support/createTestTenant.js';
import { AutovacuumGuard } from '../../../src/db/isolation/autovacuumGuard.js';
import type { Database } from '../../../src/db/pool/database.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../../support/preparedCluster.js';
import { runSql } from '../../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import { waitFor } from '../../support/waitFor.js';

/** BRIN indexes are summarized by autovacuum too: when it vacuums their tables, and if they say so, after each range of pages. */
describe('attack: a BRIN index whose function does not end when autovacuum calls it', () => {
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let database: Database;
  before(async () => {
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    const settings = ['autovacuum_naptime=1s', 'deadlock_timeout=100ms'];
    const say = (line: string): unknown => process.stderr.write(`${line}\n`);
    server = await startEmbeddedPostgres({ dataDir, throwaway: true, settings, say });
    await runSql(server.url, `create database endless template ${PREPARED_TEMPLATE}`);
    database = openTestDatabase(databaseUrl(server.url, 'endless'));
  });
  after(async () => {
    await database.close();
    await server.stop();
  });

  const cases = [
    { work: 'summary', index: 'autosummarize = on, pages_per_range = 1', table: 'autovacuum_enabled = off' },
    { work: 'vacuum', index: 'pages_per_range = 1', table: 'autovacuum_analyze_threshold = 1000000000' },
  ];
  for (const { work, index, table } of cases) {
    it(`in a ${work}, holds a worker until it is ended, once`, async () => {
      const named = { name: work, rootLogin: 'root', rootPassword: 'correct horse' };
      const { tenantid, schema } = await createTestTenant(database.pool, named);
      await runTenantSql(database, {
        tenantid,
        sql: `create function slow(a int) returns int immutable language plpgsql as $$ begin
            if session_user <> '${(await database.tenants.names()).tenant(tenantid)}' then perform pg_sleep(100000); end if;
            return a; end $$;
          create table note (a int) with (${table}); create index on note using brin (${schema}.slow(a)) with (${index});
          insert into note select generate_series(1, 5000)`,
      });
      const isHeld = async (): Promise<boolean> => {
        const { rowCount } = await database.pool.query(
          `select from pg_locks where relation = $1::regclass and mode = 'ShareUpdateExclusiveLock'`,
          [`${schema}.note`],
        );
        return (rowCount ?? 0) > 0;
      };
      const guard = new AutovacuumGuard(database.pool, 1);
      const ended: unknown[] = [];
      await waitFor('autovacuum to be ended', async () => {
        // What autovacuum does meanwhile to the table of the test before may take longer than the guard's limit, too.
        ended.push(...(await guard.endHangingWork()).filter((work) => work.tenantid === tenantid));
        return ended.length > 0;
      });
      expect(ended).to.deep.equal([{ tenantid, schema, table: 'note', work }]);
      const { rows } = await database.pool.query<{ settings: string }>(
        'select reloptions::text as settings from pg_class where relnamespace = $1::regnamespace and reloptions::text like $2',
        [schema, work === 'vacuum' ? '%vacuum_index_cleanup=off%' : '%autosummarize=off%'],
      );
      expect(rows).to.have.length(1);
      await runTenantSql(database, { tenantid, sql: 'delete from note' });
      if (work === 'vacuum') await waitFor('a vacuum to end', async () => !(await isHeld()));
    });
  }
});
