import { expect } from 'chai';
import { missingRights } from '../../src/db/isolation/rights.js';
import { connectPostgres, migratePostgresQueue } from '../../src/queue/postgresConnections.js';
import type { Database } from '../../src/db/pool/database.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase } from '../support/testDatabase.js';

describe('attack: an application whose role the service is a member of makes a schema of the service', () => {
  it('that of the queue, in which then nothing runs', async () => {
    const test = await createTestDatabase();
    const { pool } = test.database;
    const role = `app_${process.pid}`;
    await pool.query(`create role ${role}; grant ${role} to current_user;
      drop schema bullmq cascade; create schema bullmq authorization ${role}`);
    for (const run of [migratePostgresQueue, (of: Database) => connectPostgres(of, testLog)]) {
      const refused = await run(test.database).catch((error: unknown) => error);
      expect(refused).to.have.property('message').that.includes(`belongs to "${role}"`);
    }
    await pool.query(`drop schema bullmq; drop role ${role}`);
    await migratePostgresQueue(test.database);
    await test.drop();
  });

  it('that of the control tables, which are then not released', async () => {
    const test = await createTestDatabase();
    const { pool } = test.database;
    const role = `app_${process.pid}`;
    expect(await missingRights(pool)).to.deep.equal([]);
    await pool.query(`create role ${role}; grant ${role} to current_user;
      do $$ begin execute format('grant create on database %I to ${role}', current_database()); end $$;
      alter schema rowpost owner to ${role}`);
    expect((await missingRights(pool)).join()).to.include(`The schema "rowpost" belongs to "${role}"`);
    await pool.query(`alter schema rowpost owner to current_user; drop owned by ${role}; drop role ${role}`);
    await test.drop();
  });
});
