import { expect } from 'chai';
import { divideConnections, type ProcessRole } from '../../../src/db/pool/connectionBudget.js';

const ROLES: readonly ProcessRole[] = ['web', 'relay', 'worker', 'all', 'command'];

describe('the connections of a process', () => {
  it('add up to PG_POOL, with a minimum per part and the rest for tenants', () => {
    for (const role of ROLES) {
      for (const queueInPostgres of [true, false]) {
        for (const total of [10, 12, 24, 100]) {
          const budget = divideConnections(total, role, queueInPostgres);
          const { tenants, service, ledger, queue, listener } = budget;
          expect(tenants + service + ledger + queue + listener, `${role} ${total}`).to.equal(total);
          expect(Math.min(tenants, ledger), `${role} ${total}`).to.be.at.least(1);
          expect(service, `${role} ${total}`).to.be.at.least(2);
        }
      }
    }
    expect(divideConnections(24, 'web', true)).to.deep.equal({
      tenants: 14,
      service: 8,
      ledger: 2,
      queue: 0,
      listener: 0,
    });
  });

  it('are refused if too few, stating the minimum', () => {
    expect(() => divideConnections(4, 'all', true)).to.throw('"rowpost all" needs at least 10');
    expect(divideConnections(10, 'all', true).tenants).to.equal(1);
  });
});
