import { expect } from 'chai';
import type { Ledger } from '../../src/db/connection/ledger.js';
import { DeliveriesInHand, type Claim } from '../../src/worker/deliveriesInHand.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

const LEASE_MS = 300;
const JOB = { tenantid: 1, deliveryid: '1', createtime: '2026-01-01', starts: 0 };

describe('leases of deliveries in hand', () => {
  let inHand: DeliveriesInHand;
  let renewals: { starts: number; leaseMs: number }[];
  let putDown: () => Promise<void>;
  /** @param renew what PostgreSQL answers to a renewal */
  const open = (renew: () => readonly { position: number }[]): void => {
    renewals = [];
    const ledger = {
      query: (_: unknown, values: readonly unknown[]) => {
        renewals.push({ starts: (values[3] as number[])[0]!, leaseMs: values[5] as number });
        return new Promise((resolve) => resolve(renew()));
      },
      transaction: () => Promise.resolve([[], []]),
    };
    inHand = new DeliveriesInHand(ledger as unknown as Ledger, LEASE_MS, testLog);
  };
  /** Keeps the delivery in hand until `putDown`. */
  const take = async (outcome: 'done' | 'dropped' = 'done'): Promise<Claim> =>
    new Promise((resolve) => {
      let end: () => void;
      const ended = new Promise<void>((resolveEnd) => (end = resolveEnd));
      const claimed = inHand.claim(JOB, async (claim) => {
        resolve(claim);
        await ended;
        return outcome;
      });
      putDown = () => {
        end();
        return claimed;
      };
    });
  const begin = async (askedAtMs: number): Promise<Claim> => {
    const claim = await take();
    claim.begin(askedAtMs);
    return claim;
  };
  afterEach(async () => {
    await putDown();
    await inHand.stop();
  });

  it('are counted from before they were asked for', async () => {
    open(() => []);
    expect((await begin(performance.now())).isHeld()).to.equal(true);
    await putDown();
    expect((await begin(performance.now() - LEASE_MS)).isHeld()).to.equal(false);
  });

  it('are held for as long as PostgreSQL renews them', async () => {
    open(() => [{ position: 1 }]);
    const lease = await begin(performance.now());
    await waitFor('renewals beyond the first lease', () => renewals.length >= 5);
    expect(lease.isHeld()).to.equal(true);
    expect(renewals[0]).to.deep.equal({ starts: 1, leaseMs: LEASE_MS });
  });

  it('are lost at once when PostgreSQL says that the delivery has moved on', async () => {
    open(() => []);
    const lease = await begin(performance.now());
    await waitFor('the lease to be lost', () => !lease.isHeld(), { timeoutMs: 5_000 });
    expect(renewals).to.have.length(1);
  });

  it('end by themselves when PostgreSQL can not be asked', async () => {
    open(() => {
      throw new Error('no connection');
    });
    const lease = await begin(performance.now());
    await waitFor('the lease to end', () => !lease.isHeld(), { timeoutMs: 5_000 });
  });

  it('are recorded for a delivery that waits, and given back when it is dropped', async () => {
    open(() => [{ position: 1 }]);
    const claim = await take('dropped');
    await waitFor('a lease', () => renewals.length > 0);
    expect(renewals[0]).to.deep.equal({ starts: 0, leaseMs: LEASE_MS });
    claim.begin(performance.now() - LEASE_MS);
    expect(claim.isHeld(), 'only the lease of an attempt that has begun counts').to.equal(false);
    await putDown();
    await inHand.stop();
    expect(renewals.at(-1)).to.include({ leaseMs: 0 });
  });

  it('are for a delivery that is taken once', async () => {
    open(() => []);
    await take();
    let taken = false;
    await inHand.claim(JOB, () => {
      taken = true;
      return Promise.resolve('done');
    });
    expect(taken).to.equal(false);
  });
});
