import { expect } from 'chai';
import { connectPostgres, migratePostgresQueue } from '../../src/queue/postgresConnections.js';
import type { Database } from '../../src/db/connection/database.js';
import { testLog } from '../support/testConfig.js';
import { createTestDatabase } from '../support/testDatabase.js';

describe('attack: an application whose role the service is a member of makes the schema of the queue', () => {
  it('in which the service then runs nothing', async () => {
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
});
