import { expect } from 'chai';
import { cpuTimer } from '../support/cpuTime.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

const LEVELS = 6;
const WIDTH = 10;
const MAX_MS = 500;

/** 900 characters of fragments made a million columns, in one go: the process served nobody for seconds, or ran out of memory. */
describe('attack: a subquery whose fragments expand to millions of fields', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop('create table node (id int primary key, node_id int references node, v int)');
    await shop.data('{ node { id } }');
  });
  after(() => shop.close());

  const fragment = (level: number, last: string): string => {
    if (level === LEVELS) return last;
    const fields = Array.from({ length: WIDTH }, (_, n) => `a${n}: node { ...f${level + 1} }`);
    return `fragment f${level} on node { ${fields.join(' ')} }`;
  };
  for (const [what, last] of [
    ['columns', `fragment f${LEVELS} on node { v }`],
    ['relations without a column', `fragment f${LEVELS} on other { v }`],
  ] as const) {
    it(`${what} are refused before they are collected`, async () => {
      const fragments = Array.from({ length: LEVELS + 1 }, (_, level) => fragment(level, last));
      const subquery = `{ node { v ...f0 } } ${fragments.join(' ')}`;
      const spentMs = cpuTimer();
      const reply = await shop.ask('query ($s: String) { Aggregates { sum(subquery: $s) } }', {
        s: subquery,
      });
      expect(spentMs()).to.be.lessThan(MAX_MS);
      expect(reply.errors?.[0]?.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
    });
  }

  it('32 columns over eight relations are not', async () => {
    const path = 'node { '.repeat(8);
    const columns = Array.from({ length: 31 }, (_, n) => `a${n}: ${path} v ${'} '.repeat(8)}`);
    const subquery = `{ node { v ${columns.join(' ')} } }`;
    await shop.data('query ($s: String) { Aggregates { sum(subquery: $s) } }', { s: subquery });
  });
});
