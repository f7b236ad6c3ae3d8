import { expect } from 'chai';
import type { Principal } from '../../src/db/roles/principal.js';
import { visibleCatalog } from '../../src/graphql/schema/visibleCatalog.js';
import { openShop, type Shop } from '../graphql/support/shop.js';
import { cpuTimer } from '../support/cpuTime.js';

describe('attack: policy rules with a million characters of targets', () => {
  let shop: Shop;
  before(
    async () =>
      (shop = await openShop('create table a (id int primary key); create table b (id int primary key)')),
  );
  after(() => shop.close());

  const nobody = (rules: number): Principal => ({
    ...shop.root,
    login: 'Nobody',
    isRoot: false,
    isAdmin: false,
    capabilities: ['select'],
    // Texts of their own, as they are read.
    rules: JSON.parse(
      JSON.stringify(
        Array.from({ length: rules }, (_, ruleid) => ({
          ruleid,
          capabilities: ['select'],
          targets: ['a', ...Array.from({ length: 20 }, (_target, at) => `gone_${ruleid % 50}_${at}`)],
          filter: null,
        })),
      ),
    ) as Principal['rules'],
  });

  it('are not gathered anew for each request of an anonymous client', async () => {
    const { tenantid, schema } = shop.tenant;
    const catalog = await shop.engine.catalog(tenantid, schema);
    const principal = nobody(8_000);
    const elapsedMs = cpuTimer();
    for (let request = 0; request < 100; request++) {
      expect([...visibleCatalog(principal, catalog).tables.keys()]).to.deep.equal(['a']);
    }
    expect(elapsedMs()).to.be.below(1_500);
  });

  it('have the same tables, and plans, as other rules for the same targets', async () => {
    const { tenantid, schema } = shop.tenant;
    const catalog = await shop.engine.catalog(tenantid, schema);
    expect(visibleCatalog(nobody(100), catalog)).to.equal(visibleCatalog(nobody(200), catalog));
    expect(visibleCatalog(nobody(1), catalog).version).to.not.equal(
      visibleCatalog(nobody(2), catalog).version,
    );
  });
});
