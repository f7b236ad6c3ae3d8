import { expect } from 'chai';
import type { Ledger } from '../../src/db/pool/ledgerPool.js';
import type { LoadedDelivery } from '../../src/db/ledger/loadDeliveries.js';
import { createDeliveryLedger } from '../../src/worker/deliveryLedger.js';
import { testLog } from '../support/testConfig.js';

describe('the cache of email types', () => {
  const MEGABYTE = 'x'.repeat(1_000_000);

  it('holds a bounded number of characters, of which a tenant has a share', async () => {
    const loads: string[] = [];
    const ledger = {
      query: (_statement: unknown, [tenantid, emailType]: readonly [number, string]) => {
        loads.push(`${tenantid} ${emailType}`);
        return Promise.resolve([{ version: '1', template: MEGABYTE }]);
      },
    } as unknown as Ledger;
    const types = createDeliveryLedger(ledger, 1_000, testLog);
    const load = async (tenantid: number, emailType: string): Promise<boolean> => {
      const before = loads.length;
      await types.loadType({ tenantid, emailType, typeVersion: '1' } as LoadedDelivery);
      return loads.length > before;
    };
    for (let tenantid = 2; tenantid <= 11; tenantid++) expect(await load(tenantid, 'welcome')).to.equal(true);
    for (let type = 1; type <= 100; type++) await load(1, `type ${type}`);
    expect(await load(1, 'type 100')).to.equal(false);
    // Among the newest 40.
    expect(await load(1, 'type 80')).to.equal(true);
    for (let tenantid = 2; tenantid <= 11; tenantid++)
      expect(await load(tenantid, 'welcome')).to.equal(false);
  });
});
