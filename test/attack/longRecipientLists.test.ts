import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { createDeliveryLedger } from '../../src/worker/deliveryLedger.js';
import { testLog } from '../support/testConfig.js';

/** One line for all tenants: an email to 20,000 recipients, which every carrier refuses, held it for half a second. */
describe('attack: emails to thousands of recipients', () => {
  it('are looked up one by one, and no other email waits for them', async () => {
    const statements: { readonly addresses: number; readonly end: () => void }[] = [];
    const query = (_statement: unknown, [tenants]: readonly unknown[][]): Promise<unknown[]> =>
      new Promise((resolve) => statements.push({ addresses: tenants?.length ?? 0, end: () => resolve([]) }));
    const ledger = createDeliveryLedger({ query } as never, 1_000, testLog);
    const find = (tenantid: number, count: number) =>
      ledger.findSuppressed({
        tenantid,
        emailType: null,
        addresses: Array.from({ length: count }, (_, n) => `a${n}@example.com`),
      });
    const large = [find(1, 20_000), find(1, 20_000)];
    await setImmediate();
    const small = [find(2, 1), find(3, 2)];
    await setImmediate();
    await setImmediate();
    expect(statements.map(({ addresses }) => addresses)).to.deep.equal([20_000, 3]);
    statements[1]?.end();
    await Promise.all(small);
    statements[0]?.end();
    await large[0];
    await setImmediate();
    await setImmediate();
    expect(statements.map(({ addresses }) => addresses)).to.deep.equal([20_000, 3, 20_000]);
    statements[2]?.end();
    await large[1];
  });
});
