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

describe('statements that record starts of attempts', () => {
  it('have no more text than of two hundred short ones', async () => {
    const characters: number[] = [];
    const ledger = {
      query: (_statement: unknown, values: readonly unknown[]) => {
        const texts = values.flat().filter((value) => typeof value === 'string');
        characters.push(texts.join('').length);
        const { length } = values[0] as readonly unknown[];
        return Promise.resolve(Array.from({ length }, (_, index) => ({ position: index + 1 })));
      },
    } as unknown as Ledger;
    const deliveries = createDeliveryLedger(ledger, 1_000, testLog);
    const start = (subject: string): Promise<unknown> =>
      deliveries.start({
        tenantid: 1,
        deliveryid: '1',
        createtime: '2026-01-01',
        starts: 0,
        tracked: false,
        recipients: ['ada@example.com'],
        subject,
        carrier: 'smtp',
        email: null,
      });
    const startAll = (subject: string): Promise<unknown> =>
      Promise.all(Array.from({ length: 200 }, () => start(subject)));
    await startAll('Welcome');
    expect(characters).to.have.length(1);
    await startAll('x'.repeat(10_000));
    expect(Math.max(...characters)).to.be.below(250_000);
  });
});
