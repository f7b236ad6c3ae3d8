import { expect } from 'chai';
import type pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { deleteTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { ServerGuard, type EndedSession } from '../../../src/db/isolation/serverGuard.js';
import type { Database } from '../../../src/db/pool/database.js';
import { identifier, statement } from '../../../src/db/sql/sql.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { findTenantSchema } from '../../../src/db/tenants/tenantStorage.js';
import { startEmbeddedPostgres } from '../../../src/embedded/postgres.js';
import { copyPreparedCluster, PREPARED_TEMPLATE, throwawayDataDir } from '../../support/preparedCluster.js';
import { runSql } from '../../support/runSql.js';
import { databaseUrl, openTestDatabase } from '../../support/templateDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

/**
 * Whoever may use a schema, function or database may say `revoke … from public` there. That revokes nothing, but writes the object's row
 * in the catalog, and who writes it next waits for the transaction: no tenant was created, changed or deleted, and all workers of
 * autovacuum waited, those in other databases too.
 */
describe('attack: a transaction that holds rows of the catalog', () => {
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let database: Database;
  let holder: pg.Client;
  let holdingTenant: number;
  let hasEnded: boolean;
  before(async () => {
    const dataDir = await throwawayDataDir();
    await copyPreparedCluster(dataDir, 18, undefined);
    const settings = [
      'autovacuum_naptime=1s',
      'autovacuum_vacuum_threshold=1',
      'autovacuum_vacuum_scale_factor=0',
    ];
    const say = (line: string): unknown => process.stderr.write(`${line}\n`);
    server = await startEmbeddedPostgres({ dataDir, throwaway: true, settings, say });
    await runSql(server.url, `create database held template ${PREPARED_TEMPLATE}`);
    database = openTestDatabase(databaseUrl(server.url, 'held'));
  });
  after(async () => {
    await database.close();
    await server.stop();
  });
  beforeEach(async () => {
    holdingTenant = await made();
    holder = await database.tenants.connectDirectly(holdingTenant);
    hasEnded = false;
    holder.on('error', () => undefined).on('end', () => (hasEnded = true));
    await holder.query('begin');
  });
  afterEach(() => holder.end().catch(() => undefined));

  let count = 0;
  const made = async (): Promise<number> => {
    const named = { name: `tenant ${++count}`, rootLogin: 'root', rootPassword: 'correct horse' };
    return (await createTestTenant(database.pool, named)).tenantid;
  };
  /** As the relay does. */
  const guarded = async <T>(work: Promise<T>, patience?: ConstructorParameters<typeof ServerGuard>[2]) => {
    const guard = new ServerGuard(
      database.createClient,
      () => database.tenants.names(),
      ...(patience ? [patience] : []),
    );
    const ended: EndedSession[] = [];
    const done = work.then(() => true);
    do ended.push(...(await guard.endHoldingSessions()));
    while (!(await Promise.race([done, delay(100, false)])));
    await guard.close();
    return ended.map(({ role }) => role);
  };
  const holderEnds = (): Promise<unknown> => waitFor("the holder's end", () => hasEnded);
  const roleOf = async (tenantid: number): Promise<string> =>
    (await database.tenants.names()).tenant(tenantid);

  for (const held of [
    'usage on schema rowpost_tenant',
    'execute on function rowpost_tenant.tenantid()',
    'connect on database held',
  ]) {
    it(`by a right that it has, ${held}: scripts of others run, and tenants are created`, async () => {
      const other = await made();
      await holder.query(`revoke ${held} from public`);
      await runTenantSql(database, { tenantid: other, sql: 'create table note (id int primary key)' });
      const created = guarded(made());
      expect(await created).to.deep.equal([await roleOf(holdingTenant)]);
    });
  }

  it('of several sessions, the first of which has a lock on the row while it waits: all end', async () => {
    const revoke = 'revoke usage on schema rowpost_tenant from public';
    await holder.query(revoke);
    const queued = await Promise.all([1, 2].map(() => database.tenants.connectDirectly(holdingTenant)));
    try {
      for (const session of queued) {
        session.on('error', () => undefined);
        await session.query('begin; set local lock_timeout = 0');
        session.query(revoke).catch(() => undefined);
      }
      await waitFor('both to wait', async () => {
        const { rowCount } = await database.pool.query('select from pg_locks where not granted');
        return rowCount === 2;
      });
      const role = await roleOf(holdingTenant);
      expect(await guarded(made())).to.deep.equal([role, role, role]);
    } finally {
      for (const session of queued) await session.end().catch(() => undefined);
    }
  });

  it('ends with the tenant', async () => {
    await holder.query('revoke usage on schema rowpost_tenant from public');
    await inTransaction(database.pool, (tx) => deleteTenant(tx, holdingTenant));
  });

  it('does not keep autovacuum from all databases', async () => {
    await holder.query('revoke connect on database held from public');
    const isWaiting = async (): Promise<boolean> => {
      const { rowCount } = await database.pool.query(
        `select from pg_locks l join pg_stat_activity a using (pid)
         where not l.granted and l.locktype = 'transactionid' and a.usesysid is null`,
      );
      return (rowCount ?? 0) > 0;
    };
    await database.pool.query('create table public.dead (id int)');
    await waitFor('autovacuum', async () => {
      await database.pool.query('insert into public.dead values (1)');
      await database.pool.query('delete from public.dead');
      return isWaiting();
    });
    const patience = { serviceMs: 60_000, autovacuumMs: 500, transactions: 200_000_000 };
    expect(await guarded(holderEnds(), patience)).to.deep.equal([await roleOf(holdingTenant)]);
    await waitFor('autovacuum to go on', async () => !(await isWaiting()));
  });

  it('nor does a lock on tables that have to be vacuumed against wraparound, for which autovacuum waits', async () => {
    await runTenantSql(database, {
      tenantid: holdingTenant,
      sql: 'create table frozen (id int) with (autovacuum_freeze_max_age = 100000)',
    });
    const schema = await findTenantSchema(database.pool, holdingTenant);
    await holder.query(statement`lock table ${identifier(schema, 'frozen')} in access exclusive mode`);
    for (let part = 0; part < 11; part++) {
      await database.pool.query(
        'do $$ begin for n in 1..10000 loop perform pg_current_xact_id(); commit; end loop; end $$',
      );
    }
    await waitFor('autovacuum to wait', async () => {
      const { rowCount } = await database.pool.query(
        `select from pg_locks l join pg_stat_activity a using (pid)
         where not l.granted and l.locktype = 'relation' and a.usesysid is null`,
      );
      return (rowCount ?? 0) > 0;
    });
    const patience = { serviceMs: 60_000, autovacuumMs: 500, transactions: 200_000_000 };
    expect(await guarded(holderEnds(), patience)).to.deep.equal([await roleOf(holdingTenant)]);
  });

  it('ends when PostgreSQL would run out of transaction ids', async () => {
    await holder.query('select pg_current_xact_id()');
    const patience = { serviceMs: 60_000, autovacuumMs: 60_000, transactions: 100 };
    await guarded(delay(300), patience);
    await holder.query('select 1');
    for (let n = 0; n < 200; n++) await database.pool.query('select pg_current_xact_id()');
    await guarded(delay(300), patience);
    expect(await holder.query('select 1').catch(() => 'ended')).to.equal('ended');
  });
});
