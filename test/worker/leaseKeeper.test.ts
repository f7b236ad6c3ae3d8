import { expect } from 'chai';
import type { Ledger } from '../../src/db/connection/ledger.js';
import { createLeaseKeeper, type LeaseKeeper } from '../../src/worker/leaseKeeper.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

const LEASE_MS = 300;
const ATTEMPT = { tenantid: 1, deliveryid: '1', createtime: '2026-01-01', attempt: 1 };

describe('leases of attempts in flight', () => {
  let keeper: LeaseKeeper;
  let renewals = 0;
  /** @param renew what PostgreSQL answers to a renewal */
  const open = (renew: () => readonly { position: number }[]): void => {
    renewals = 0;
    const ledger = {
      query: () => {
        renewals += 1;
        return new Promise((resolve) => resolve(renew()));
      },
      transaction: () => Promise.resolve([[], []]),
    };
    keeper = createLeaseKeeper(ledger as unknown as Ledger, LEASE_MS, testLog);
  };
  afterEach(() => keeper.stop());

  it('is counted from before it was asked for', () => {
    open(() => []);
    expect(keeper.hold(ATTEMPT, performance.now()).isHeld()).to.equal(true);
    expect(keeper.hold(ATTEMPT, performance.now() - LEASE_MS).isHeld()).to.equal(false);
  });

  it('is held for as long as PostgreSQL renews it', async () => {
    open(() => [{ position: 1 }]);
    const lease = keeper.hold(ATTEMPT, performance.now());
    await waitFor('renewals beyond the first lease', () => renewals >= 5);
    expect(lease.isHeld()).to.equal(true);
  });

  it('is lost at once when PostgreSQL says that the delivery has moved on', async () => {
    open(() => []);
    const heldFromMs = performance.now();
    const lease = keeper.hold(ATTEMPT, heldFromMs);
    await waitFor('the lease to be lost', () => !lease.isHeld(), { timeoutMs: 5_000 });
    expect(renewals).to.equal(1);
  });

  it('expires when PostgreSQL is unreachable', async () => {
    open(() => {
      throw new Error('no connection');
    });
    const lease = keeper.hold(ATTEMPT, performance.now());
    await waitFor('the lease to end', () => !lease.isHeld(), { timeoutMs: 5_000 });
  });
});
