import { expect } from 'chai';
import { readVacuumState } from '../../../src/db/isolation/vacuumState.js';
import type { PostgresMajor } from '../../support/postgresServer.js';
import { createTestDatabase } from '../../support/testDatabase.js';

const SESSIONS = 4;

describe('how much of the space for shared locks of rows is in use', () => {
  for (const postgres of [15, 18] satisfies readonly PostgresMajor[]) {
    it(`is estimated on PostgreSQL ${postgres}`, async () => {
      const db = await createTestDatabase({ postgres });
      const { pool, createClient } = db.database;
      const sessions = Array.from({ length: SESSIONS }, createClient);
      try {
        await pool.query(
          `create schema locked create table row (id int primary key);
           insert into locked.row values (1)`,
        );
        for (const session of sessions) await session.connect();
        for (const session of sessions) await session.query('begin; select from locked.row for share');
        // The second session makes a multixact of two, the third one of three, and so on. Other tests make some, too.
        const { members } = await readVacuumState(pool);
        expect(Math.round(members * 2 ** 32)).to.be.within(2 + 3 + SESSIONS, 1_000_000);
      } finally {
        await Promise.all(sessions.map((session) => session.end()));
        await db.drop();
      }
    });
  }
});
