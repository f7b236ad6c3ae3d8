import { expect } from 'chai';
import { reserveCall } from '../../../src/db/ledger/nextCall.js';
import { createTenant, type TestTenant } from '../../delivery/pipelineSetup.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const INTERVAL_MS = 60_000;

describe('ledger: calls of a carrier that limits them', () => {
  let db: TestDatabase;
  let tenants: readonly TestTenant[];
  before(async () => {
    db = await createTestDatabase();
    tenants = [await createTenant(db.database), await createTenant(db.database)];
  });
  after(() => db.drop());

  const reserve = (tenant: TestTenant, intervalMs = INTERVAL_MS): Promise<number> =>
    reserveCall(db.database.ledger, tenant.tenantid, intervalMs);

  it('those reserved at once are as far apart as asked, whoever reserves them', async () => {
    const [tenant, other] = tenants as [TestTenant, TestTenant];
    const waits = await Promise.all(Array.from({ length: 5 }, () => reserve(tenant)));
    const turns = waits.map((waitMs) => Math.round(waitMs / INTERVAL_MS)).sort();
    expect(turns).to.deep.equal([0, 1, 2, 3, 4]);
    expect(await reserve(other), 'of another tenant').to.equal(0);
  });

  it('nothing is saved up', async () => {
    const tenant = await createTenant(db.database);
    expect(await reserve(tenant, 1)).to.equal(0);
    await db.database.pool.query(
      `update rowpost.email_pace set next_call = now() - interval '1 hour' where tenantid = $1`,
      [tenant.tenantid],
    );
    expect(await reserve(tenant)).to.equal(0);
    expect(await reserve(tenant)).to.be.above(INTERVAL_MS / 2);
  });

  it('a tenant that is gone waits for nothing', async () => {
    expect(await reserveCall(db.database.ledger, 2_000_000, INTERVAL_MS)).to.equal(0);
  });
});
