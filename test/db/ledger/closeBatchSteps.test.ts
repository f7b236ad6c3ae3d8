import { expect } from 'chai';
import { loopGuardSql } from '../../../src/db/ledger/loopGuardSql.js';
import { rateLimitSlotsSql } from '../../../src/db/ledger/rateLimitSlots.js';
import { createTenant, type TestTenant } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { sql, statement } from '../../../src/db/sql/sql.js';

describe('steps of closing a batch', () => {
  let db: TestDatabase;
  let tenant: TestTenant;

  beforeEach(async () => {
    db = await createTestDatabase();
    tenant = await createTenant(db.database);
  });
  afterEach(() => db.drop());

  describe('the loop guard', () => {
    interface Matched {
      record: number;
      minute?: string;
      code?: string;
    }

    /** @returns the positions of those that trip */
    const guard = async (max: number, matched: readonly Matched[]): Promise<number[]> => {
      const { rows } = await db.database.pool.query<{ position: number }>(
        statement`with matched as materialized (
           select position::int as position, 1 as ruleid, code, minute, record
           from unnest($2::text[], $3::timestamptz[], $4::bigint[]) with ordinality as m(code, minute, record, position)
         ), ${loopGuardSql(sql`$1::int`)}
         select position from guarded where trips order by position`,
        [
          max,
          matched.map(({ code }) => code ?? null),
          matched.map(({ minute }) => minute ?? '2026-01-01 10:00Z'),
          matched.map(({ record }) => record),
        ],
      );
      return rows.map(({ position }) => position);
    };

    it('lets the first ones of a minute pass, for each record', async () => {
      expect(
        await guard(
          2,
          [1, 7, 1, 1, 7, 1].map((record) => ({ record })),
        ),
      ).to.deep.equal([4, 6]);
    });

    it('counts on in the next batch of the same minute, and anew in the next minute', async () => {
      expect(await guard(3, [{ record: 1 }, { record: 1 }])).to.deep.equal([]);
      expect(await guard(3, [{ record: 1 }, { record: 1 }])).to.deep.equal([2]);
      const next = { record: 1, minute: '2026-01-01 10:01Z' };
      expect(await guard(3, [{ record: 1 }, next, next])).to.deep.equal([1]);
    });

    it('does not count what sends nothing', async () => {
      const failing = { record: 1, code: 'CONDITION_FAILED' };
      expect(await guard(1, [failing, failing, { record: 1 }, { record: 1 }])).to.deep.equal([4]);
    });

    it('trips nothing without a limit', async () => {
      const many = Array.from({ length: 50 }, () => ({ record: 1 }));
      expect(await guard(0, many)).to.deep.equal([]);
    });
  });

  describe('rate limit slots', () => {
    interface Guarded {
      code?: string;
      trips?: boolean;
    }

    /** @returns milliseconds from now to each slot */
    const slotsOf = async (perSecond: number, guarded: readonly Guarded[]): Promise<(number | null)[]> => {
      const { rows } = await db.database.pool.query<{ ms: number | null }>(
        statement`with batch as (select $1::int as tenantid), guarded as materialized (
           select * from unnest($3::text[], $4::bool[]) with ordinality as g(code, trips, position)
         ), ${rateLimitSlotsSql(sql`$2::int`)}
         select round(extract(epoch from slot - now()) * 1000)::int as ms from scheduled order by position`,
        [
          tenant.tenantid,
          perSecond,
          guarded.map(({ code }) => code ?? null),
          guarded.map(({ trips }) => trips ?? false),
        ],
      );
      return rows.map(({ ms }) => ms);
    };

    it('follow each other at the tenant’s rate, the first at once', async () => {
      expect(await slotsOf(10, [{}, {}, {}])).to.deep.equal([0, 100, 200]);
    });

    it('follow those of the batch before', async () => {
      await slotsOf(
        10,
        Array.from({ length: 50 }, () => ({})),
      );
      const [first, second] = await slotsOf(10, [{}, {}]);
      expect(first).to.be.within(4_000, 5_000);
      expect((second ?? 0) - (first ?? 0)).to.equal(100);
    });

    it('are only for what is sent', async () => {
      const slots = await slotsOf(10, [{}, { trips: true }, { code: 'CONDITION_FAILED' }, {}]);
      expect(slots).to.deep.equal([0, null, null, 100]);
    });

    it('are not needed without a limit', async () => {
      expect(await slotsOf(0, [{}, {}])).to.deep.equal([null, null]);
      const { rowCount } = await db.database.pool.query('select from rowpost.email_pace');
      expect(rowCount).to.equal(0);
    });
  });
});
