import { expect } from 'chai';
import { storeAccounts } from '../../src/db/email/emailAccounts.js';
import { resumeDeliveries } from '../../src/db/ledger/pause.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';
import { statement } from '../../src/db/sql/sql.js';
import { createTenant, keyRing, type TestTenant } from '../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

/** More than are resumed with the key, and than are in a run of the relay. */
const MANY = 13_000;
const SECRET = '0123456789';

/**
 * The key was set in one transaction with all deliveries that waited for it: with some four hundred thousand, that took longer than a
 * statement may, and the tenant could never set one.
 */
describe('attack: very many paused deliveries', () => {
  let db: TestDatabase;
  beforeEach(async () => (db = await createTestDatabase()));
  afterEach(() => db.drop());

  const createPaused = async (count: number): Promise<TestTenant> => {
    const tenant = await createTenant(db.database);
    await db.database.pool.query(
      statement`update rowpost.email_apikey set paused_code = 'APIKEY_REFUSED', paused_reason = 'no' where tenantid = $1`,
      [tenant.tenantid],
    );
    await db.database.pool.query(
      statement`insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
        state, error_code, tracked)
      select $1, $1 * 1000000 + n, 1, 'welcome', 'insert', 'customer', '{}',
        case when n % 2 = 0 then 'at_most_once' else 'at_least_once' end, now() - n * interval '1 minute', 'paused', 'APIKEY_REFUSED', true
      from generate_series(1, $2::int) n`,
      [tenant.tenantid, count],
    );
    return tenant;
  };
  const setKey = ({ tenantid }: TestTenant, emailsPerSecond = 0): Promise<void> =>
    inTransaction(db.database.pool, (tx) =>
      storeAccounts(tx, keyRing, { tenantid, setBy: 1, apikey: SECRET, emailsPerSecond }),
    );
  const pausedOf = async ({ tenantid }: TestTenant): Promise<number> =>
    (
      await db.database.pool.query(
        statement`select from rowpost.delivery where tenantid = $1 and state = 'paused'`,
        [tenantid],
      )
    ).rowCount ?? 0;

  it('are resumed in parts after the key is set, by turns of tenants', async () => {
    const { ledger, pool } = db.database;
    const [many, few, still, moved] = [
      await createPaused(MANY),
      await createPaused(1_005),
      await createPaused(3),
      await createPaused(3),
    ];
    await pool.query(statement`update rowpost.tenant set moved_to = 'other', move = 1 where tenantid = $1`, [
      moved.tenantid,
    ]);
    for (const tenant of [many, few, moved]) await setKey(tenant);
    expect(await pausedOf(many)).to.equal(MANY - 1_000);
    expect(await pausedOf(few)).to.equal(5);
    await resumeDeliveries(ledger, 0);
    expect(await pausedOf(few)).to.equal(0);
    expect(await pausedOf(many)).to.be.within(1, MANY - 8_000);
    // A relay that ends between two parts leaves the rest to the next run, of any relay.
    await Promise.all([resumeDeliveries(ledger, 0), resumeDeliveries(ledger, 0)]);
    expect(await pausedOf(many)).to.equal(0);
    expect([await pausedOf(still), await pausedOf(moved)], 'paused, or moved').to.deep.equal([3, 3]);
    const { rows } = await pool.query(
      statement`select state, error_code, starts, attempts, count(*)::int as count, bool_and(due <= now() and next_attempt <= now()) as due
        from rowpost.delivery where tenantid = $1 group by 1, 2, 3, 4`,
      [many.tenantid],
    );
    expect(rows).to.deep.equal([
      { state: 'pending', error_code: null, starts: 0, attempts: 0, count: MANY, due: true },
    ]);
  });

  it('have slots of the rate limit, each its own, and leave those of others', async () => {
    const { ledger, pool } = db.database;
    const tenant = await createPaused(2_500);
    await pool.query(
      statement`insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
        state, tracked, due, next_attempt)
      values ($1, 1, 1, 'waits', 'insert', 'customer', '{}', 'at_least_once', now(), 'pending', true, now(), now())`,
      [tenant.tenantid],
    );
    await setKey(tenant, 50);
    await Promise.all([resumeDeliveries(ledger, 50), resumeDeliveries(ledger, 50)]);
    expect(await pausedOf(tenant)).to.equal(0);
    const { rows } = await pool.query(
      statement`select count(distinct slot)::int as slots, min(gap) as shortest, max(slot) > min(slot) + interval '49 seconds' as spread,
          bool_and(due <= slot and due >= slot - interval '5.1 seconds' or slot < now()) as ahead
        from (select next_attempt as slot, due,
            round(1000 * extract(epoch from next_attempt - lag(next_attempt) over (order by next_attempt)))::int as gap
          from rowpost.delivery where tenantid = $1 and email_type = 'welcome') s`,
      [tenant.tenantid],
    );
    expect(rows).to.deep.equal([{ slots: 2_500, shortest: 20, spread: true, ahead: true }]);
    const { rows: waits } = await pool.query(
      statement`select next_attempt <= now() as now from rowpost.delivery where tenantid = $1 and email_type = 'waits'`,
      [tenant.tenantid],
    );
    expect(waits).to.deep.equal([{ now: true }]);
  });
});
