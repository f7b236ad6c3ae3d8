import { expect } from 'chai';
import { watchEventLoop } from '../support/loopBlocks.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

const RUNS = 5;
const times = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/**
 * Filters in variables are parsed to find their request's plan, also where it is known: a megabyte of them, in one go and outside any
 * quota, for half a second; and again for their values, since no cache keeps as many.
 */
describe('attack: long filters in the variables of a request whose plan is known', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table node (id int primary key, v int)')));
  after(() => shop.close());

  for (const [what, count, items, maxMs] of [
    ['are parsed one by one', 20, 9_500, 120],
    ['are parsed a few at a time', 200, 2_400, 250],
  ] as const) {
    it(`${count} of them ${what}`, async () => {
      const names = times(count, (n) => `f${n}`);
      const document = `query (${names.map((name) => `$${name}: String`).join(' ')}) {
        ${names.map((name) => `${name}: node(filter: $${name}) { id }`).join(' ')} }`;
      // All different, and not those of the run before.
      const variables = (run: number): Record<string, string> =>
        Object.fromEntries(names.map((name, n) => [name, `v in (${'1,'.repeat(items)}${run}, ${n})`]));
      for (let run = 0; run < 3; run++) await shop.data(document, variables(run));
      const blocks: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const given = variables(10 + run);
        const longestMs = watchEventLoop();
        await shop.data(document, given);
        blocks.push(longestMs());
      }
      expect(Math.min(...blocks)).to.be.lessThan(maxMs);
    });
  }
});
