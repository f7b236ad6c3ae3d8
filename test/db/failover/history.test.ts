import { expect } from 'chai';
import {
  compareHistory,
  createPositionReader,
  type HistoryPosition,
} from '../../../src/db/failover/history.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

describe('the database history', () => {
  for (const postgres of [15, 18] as const) {
    describe(`as PostgreSQL ${postgres} tells it`, () => {
      let db: TestDatabase;
      before(async () => (db = await createTestDatabase({ postgres })));
      after(() => db.drop());

      it('only grows', async () => {
        const read = createPositionReader(db.database.pool);
        const before = (await read())!;
        await db.database.pool.query(
          'create table public.growth as select i from generate_series(1, 1000) i',
        );
        let after = before;
        await waitFor('what is written to be flushed', async () => {
          after = (await read())!;
          return after.walBytes > before.walBytes;
        });
        expect(after.identity).to.equal(before.identity);
        expect(after.identity).to.match(/^\d+\.\d+\.\d+$/);
        expect(after.timeline).to.equal('00000001');
        expect(compareHistory(before, after)).to.equal(undefined);
      });

      it('begins with the first release', async () => {
        const { pool } = db.database;
        const read = createPositionReader(pool);
        await pool.query('alter table rowpost.relay_poll rename to not_yet');
        expect(await read()).to.equal(undefined);
        await pool.query('alter table rowpost.not_yet rename to relay_poll');
        expect(await read()).to.be.an('object');
      });
    });
  }

  const seen: HistoryPosition = { identity: '7.16384.17000', timeline: '00000001', walBytes: 900n };

  it('differs for another database', () => {
    expect(compareHistory(seen, { ...seen, identity: '8.16384.17000', walBytes: 9_000n })).to.equal(
      'replaced',
    );
  });
  it('differs after a standby took over', () => {
    expect(compareHistory(seen, { ...seen, timeline: '00000002', walBytes: 9_000n })).to.equal('promoted');
  });
  it('is detected as going back when the log is shorter than before', () => {
    expect(compareHistory(seen, { ...seen, walBytes: 899n })).to.equal('rewound');
  });
});
