import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { migrate, pendingMigrations } from '../../../src/db/schema/migrate.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const PATIENCE_MS = 30_000;

describe('migrations', () => {
  let db: TestDatabase;
  /** The migrations of a later release. */
  let later: string;
  beforeEach(async () => {
    db = await createTestDatabase();
    later = await mkdtemp(path.join(os.tmpdir(), 'rowpost-migrations-'));
    await writeFile(
      path.join(later, '0002_outbox_note.js'),
      `exports.up = (knex) => knex.raw('alter table rowpost.outbox add column note text');
       exports.down = () => Promise.reject(new Error('Migrations go forward only.'));`,
    );
  });
  afterEach(async () => {
    await db.drop();
    await rm(later, { recursive: true });
  });

  it('may be newer than the build: older processes start during a rollout', async () => {
    await db.database.pool.query(
      `insert into rowpost.migration (name, batch, migration_time) values ('9999_of_a_newer_release.js', 99, now())`,
    );
    expect(await pendingMigrations(db.database.pool)).to.deep.equal([]);
  });

  it('are listed while the database lacks them', async () => {
    const { rows } = await db.database.pool.query<{ name: string }>(
      `delete from rowpost.migration where id = (select max(id) from rowpost.migration) returning name`,
    );
    expect(await pendingMigrations(db.database.pool)).to.deep.equal([rows[0]!.name]);
  });

  it('refuse a schema from before the first release, and change nothing', async () => {
    const { pool } = db.database;
    await pool.query(`update rowpost.migration set name = '0001_control.js'`);
    const refused = await migrate(pool).catch((error: unknown) => String(error));
    expect(refused).to.match(/^UsageError: .* made by a build from before version 0\.1\.0/);
  });

  it('are not applied twice', async () => {
    const { pool } = db.database;
    expect(await migrate(pool)).to.deep.equal([]);
    expect(await migrate(pool, { patienceMs: PATIENCE_MS, directory: later })).to.deep.equal([
      '0002_outbox_note.js',
    ]);
    expect(await migrate(pool, { patienceMs: PATIENCE_MS, directory: later })).to.deep.equal([]);
  });

  it('yield to a session waiting behind them, and are applied once it has ended', async () => {
    const { pool } = db.database;
    const writer = await pool.connect();
    await writer.query(`begin; insert into rowpost.outbox (tenantid, operation, target, key)
      values (0, 'insert', 'orders', '{}')`);
    const migrated = migrate(pool, { patienceMs: PATIENCE_MS, directory: later });
    await delay(1_500);
    // Behind a migration that waits nobody else would get this lock.
    await pool.query(`set lock_timeout = 1000; select count(*) from rowpost.outbox; reset lock_timeout`);
    await writer.query('commit');
    writer.release();
    expect(await migrated).to.deep.equal(['0002_outbox_note.js']);
  });

  it('report what to do about a held lock, and change nothing', async () => {
    const { pool } = db.database;
    const before = await pool.query('select name from rowpost.migration order by id');
    const holder = await pool.connect();
    await holder.query('begin; lock table rowpost.outbox in share mode');
    const error = await migrate(pool, { patienceMs: 100, directory: later }).catch(
      (thrown: unknown) => thrown,
    );
    expect(String(error)).to.include('other sessions hold locks');
    await holder.query('rollback');
    holder.release();
    const after = await pool.query('select name from rowpost.migration order by id');
    expect(after.rows).to.deep.equal(before.rows);
  });
});
