import { expect } from 'chai';
import { heaviestFilters, openLongShop, weigh } from '../../../graphql/filter/heaviest.js';
import type { Shop } from '../../../graphql/filter/shop.js';

/** Half of them are PostgreSQL's own copies of the row. */
const MAX_MEGABYTES = 96;
const MAX_MS = 20_000;

describe('filters: memory and time of the heaviest expressions, on a row with megabytes', () => {
  let shop: Shop;
  before(async () => (shop = await openLongShop()));
  after(() => shop.db.drop());

  for (const [name, filter] of heaviestFilters()) {
    it(name, async () => {
      const { megabytes, ms, code } = await weigh(shop, filter);
      expect(megabytes).to.be.below(MAX_MEGABYTES);
      expect(ms).to.be.below(MAX_MS);
      expect(code).to.satisfy(
        (found?: string) => found === undefined || /^(22...|RP002|FILTER_.*)$/.test(found),
      );
    });
  }
});
