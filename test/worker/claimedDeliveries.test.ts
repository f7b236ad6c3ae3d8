import { expect } from 'chai';
import type { Ledger } from '../../src/db/pool/ledgerPool.js';
import { ClaimedDeliveries } from '../../src/worker/claimedDeliveries.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

const LEASE_MS = 300;

describe('leases of claimed deliveries', () => {
  let claimed: ClaimedDeliveries;
  /** What was asked of PostgreSQL, as the parameters of each statement. */
  let asked: (readonly unknown[])[];
  /** @param renew what PostgreSQL responds to a renewal */
  const open = (renew: () => readonly { position: number }[] | Promise<never>): void => {
    asked = [];
    const ledger = {
      query: (_statement: unknown, values: readonly unknown[]) => {
        asked.push(values);
        return new Promise((resolve) => resolve(renew()));
      },
      transaction: () => Promise.resolve([[], []]),
    };
    claimed = new ClaimedDeliveries(ledger as unknown as Ledger, LEASE_MS, testLog);
  };
  afterEach(() => claimed.stop());

  const job = (starts = 0) => ({ tenantid: 1, deliveryid: '1', createtime: '2026-01-01', starts });
  /** An attempt that does not end. @returns whether its lease is held */
  const begin = (requestedAtMs: number, starts = 0): (() => boolean) => {
    let isHeld = (): boolean => false;
    void claimed.claim(job(starts), () => {
      isHeld = claimed.begin(job(starts), requestedAtMs);
      return new Promise(() => undefined);
    });
    return isHeld;
  };

  it('is counted from before it was asked for', () => {
    open(() => []);
    expect(begin(performance.now())()).to.equal(true);
    expect(begin(performance.now() - LEASE_MS, 1)()).to.equal(false);
  });

  it('is held for as long as PostgreSQL renews it', async () => {
    open(() => [{ position: 1 }]);
    const isHeld = begin(performance.now());
    await waitFor('renewals beyond the first lease', () => asked.length >= 5);
    expect(isHeld()).to.equal(true);
  });

  it('is lost at once when PostgreSQL says that the delivery has moved on', async () => {
    open(() => []);
    const isHeld = begin(performance.now());
    await waitFor('the lease to be lost', () => !isHeld());
    expect(asked, 'as tracked already, and once it is tracked').to.have.length(2);
  });

  it('expires when PostgreSQL is unreachable', async () => {
    open(() => {
      throw new Error('no connection');
    });
    const isHeld = begin(performance.now());
    await waitFor('the lease to end', () => !isHeld());
  });

  it('is its own from when its attempt begins, whatever is answered about its wait', async () => {
    let refuse = (): void => undefined;
    const refused = new Promise<void>((resolve) => (refuse = resolve));
    open(() => refused.then(() => []) as Promise<never>);
    await claimed.claim(job(), async () => {
      await waitFor('the lease of its wait to be asked for', () => asked.length > 0);
      const isHeld = claimed.begin(job(), performance.now());
      refuse();
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      expect(asked).to.have.length(2);
      expect(isHeld()).to.equal(true);
      return 'done';
    });
  });

  it('is released when the delivery is dropped', async () => {
    open(() => [{ position: 1 }]);
    await claimed.claim(job(), async () => {
      await waitFor('its lease', () => asked.length > 0);
      return 'dropped';
    });
    await claimed.stop();
    expect(asked.map((values) => values.at(-1))).to.deep.equal([LEASE_MS, 0]);
  });
});
