import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { migrate, pendingMigrations } from '../../src/db/migrate.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('migrations', () => {
  let db: TestDatabase;
  beforeEach(async () => {
    db = await createTestDatabase();
  });
  afterEach(() => db.drop());

  it('may be newer than the build: older processes start during a rollout', async () => {
    await db.database.pool.query(
      `insert into rowpost.migration (name, batch, migration_time) values ('9999_of_a_newer_release.js', 99, now())`,
    );
    expect(await pendingMigrations(db.database.knex)).to.deep.equal([]);
  });

  it('are listed while the database lacks them', async () => {
    const { rows } = await db.database.pool.query<{ name: string }>(
      `delete from rowpost.migration where id = (select max(id) from rowpost.migration) returning name`,
    );
    expect(await pendingMigrations(db.database.knex)).to.deep.equal([rows[0]!.name]);
  });

  it('yield to a session waiting behind them, and are applied once it has ended', async () => {
    const { knex, pool } = db.database;
    // As before the release that has the last one.
    await pool.query(`delete from rowpost.migration where name = '0059_event_trace.js'`);
    await pool.query('alter table rowpost.outbox drop column traceparent');
    const writer = await pool.connect();
    await writer.query(`begin; insert into rowpost.outbox (tenantid, operation, target, key)
      values (0, 'insert', 'orders', '{}')`);
    const migrated = migrate(knex);
    await delay(1_500);
    // Behind a migration that waits nobody else would get this lock.
    await pool.query(`set lock_timeout = 1000; select count(*) from rowpost.outbox; reset lock_timeout`);
    await writer.query('commit');
    writer.release();
    expect(await migrated).to.deep.equal(['0059_event_trace.js']);
  });

  it('report what to do about a held lock, and change nothing', async () => {
    const { knex, pool } = db.database;
    const before = await pool.query('select name from rowpost.migration order by id');
    await pool.query(`delete from rowpost.migration where name = '0059_event_trace.js'`);
    const holder = await pool.connect();
    await holder.query('begin; lock table rowpost.outbox in share mode');
    const error = await migrate(knex, 100).catch((thrown: unknown) => thrown);
    expect(String(error)).to.include('other sessions hold locks');
    await holder.query('rollback');
    holder.release();
    expect((await pool.query('select name from rowpost.migration')).rowCount).to.equal(before.rowCount! - 1);
  });
});
