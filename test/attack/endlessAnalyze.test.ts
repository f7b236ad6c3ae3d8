import { expect } from 'chai';
import { createTestTenant } from '../support/createTestTenant.js';
import { AutovacuumGuard } from '../../src/db/isolation/autovacuumGuard.js';
import type { Database } from '../../src/db/pool/database.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../support/preparedCluster.js';
import { runSql } from '../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../support/templateDatabase.js';
import { waitFor } from '../support/waitFor.js';

/** Three such tables kept all workers of autovacuum, and nothing else on the server was vacuumed any more. */
describe('attack: an index whose function does not end when autovacuum calls it', () => {
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

  it('holds a worker until it is ended, once', async () => {
    const named = { name: 'shop', rootLogin: 'root', rootPassword: 'correct horse' };
    const { tenantid, schema } = await createTestTenant(database.pool, named);
    await runTenantSql(database, {
      tenantid,
      sql: `create function slow(a int) returns int immutable language plpgsql as $$ begin
          if session_user <> '${(await database.tenants.names()).tenant(tenantid)}' then perform pg_sleep(100000); end if;
          return a; end $$;
        create table note (a int); create index on note (${schema}.slow(a)); insert into note select generate_series(1, 5000)`,
    });
    const isHeld = async (): Promise<boolean> => {
      const { rowCount } = await database.pool.query(
        `select from pg_stat_progress_analyze join pg_locks using (pid)
          where relation = $1::regclass and mode = 'ShareUpdateExclusiveLock'`,
        [`${schema}.note`],
      );
      return (rowCount ?? 0) > 0;
    };
    await waitFor('autovacuum', isHeld);
    const guard = new AutovacuumGuard(database.pool, 1);
    expect(await guard.endHangingWork()).to.deep.equal([]);
    expect(await guard.endHangingWork()).to.deep.equal([
      { tenantid, schema, table: 'note', work: 'analyze' },
    ]);
    expect(await isHeld()).to.equal(false);
    const { rows } = await database.pool.query<{ vacuums: string }>(
      'select autovacuum_count::text as vacuums from pg_stat_all_tables where relid = $1::regclass',
      [`${schema}.note`],
    );
    await runTenantSql(database, { tenantid, sql: 'delete from note' });
    await waitFor('a vacuum', async () => {
      const now = await database.pool.query<{ vacuums: string }>(
        'select autovacuum_count::text as vacuums from pg_stat_all_tables where relid = $1::regclass',
        [`${schema}.note`],
      );
      return now.rows[0]!.vacuums > rows[0]!.vacuums;
    });
    expect(await isHeld()).to.equal(false);
  });
});
