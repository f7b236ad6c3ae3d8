import { expect } from 'chai';
import { pendingMigrations } from '../../src/db/migrate.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

describe('migrations', () => {
  let db: TestDatabase;
  beforeEach(async () => {
    db = await createTestDatabase();
  });
  afterEach(() => db.drop());

  it('are none too many for a build that is older than the database: its processes start during a roll-out', async () => {
    await db.database.pool.query(
      `insert into rowpost.migration (name, batch, migration_time) values ('9999_of_a_newer_release.js', 99, now())`,
    );
    expect(await pendingMigrations(db.database.knex)).to.deep.equal([]);
  });

  it('are named while the database lacks them', async () => {
    const { rows } = await db.database.pool.query<{ name: string }>(
      `delete from rowpost.migration where id = (select max(id) from rowpost.migration) returning name`,
    );
    expect(await pendingMigrations(db.database.knex)).to.deep.equal([rows[0]!.name]);
  });
});
