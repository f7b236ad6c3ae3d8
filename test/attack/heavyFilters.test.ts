import { expect } from 'chai';
import { openLongShop, weigh } from '../graphql/filter/heaviest.js';
import type { Shop } from '../graphql/filter/shop.js';

const MAX_MEGABYTES = 96;
const MAX_MS = 20_000;
const join = (text: string, times: number): string => Array<string>(times).fill(text).join(', ');

describe('attack: a filter that takes the memory or the time of a PostgreSQL backend', () => {
  let shop: Shop;
  before(async () => (shop = await openLongShop()));
  after(() => shop.db.drop());

  for (const [how, filter] of [
    ['by nested concat', `concat(${join(`concat(${join('status', 28)})`, 30)}) is null`],
    [
      'by a function on many copies',
      Array.from({ length: 140 }, (_, i) => `lower(status) = 'x${i}'`).join(' or '),
    ],
    ['by replacing characters that are not there', `translate(status, '${'ü'.repeat(3_000)}', '') = 'x'`],
    ['by a pattern that almost matches everywhere', `status like '%${'Ab '.repeat(3_000)}x'`],
  ] as const) {
    it(how, async () => {
      const { megabytes, ms } = await weigh(shop, filter);
      expect(megabytes).to.be.below(MAX_MEGABYTES);
      expect(ms).to.be.below(MAX_MS);
    });
  }
});
