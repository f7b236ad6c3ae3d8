import { expect } from 'chai';
import { watchEventLoop } from '../support/loopBlocks.js';
import { openShop, type Reply, type Shop } from '../graphql/support/shop.js';

const COLUMNS = 1500;
/** What took 5 s takes 0.03 s. */
const MAX_BLOCK_MS = 500;

const times = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ');

/**
 * A filter of two kilobytes that a thousand lists share: each compiled it, those of one root field in one go, and four such requests
 * took two gigabytes. Likewise the values of a row that a hundred fields create.
 */
describe('attack: one variable for all fields of a request', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(`create table node (id int primary key, node_id int references node, v int);
      do $$ begin
        execute 'create table wide (id int primary key, '
          || (select string_agg('c' || i || ' int', ',') from generate_series(1, ${COLUMNS}) i) || ')';
      end $$`);
    await shop.data('{ node { id } wide { id } }');
  });
  after(() => shop.close());

  const filter = Array.from({ length: 240 }, (_, n) => `v = ${n}`).join(' or ');
  const codes = ({ errors = [] }: Reply): readonly string[] => [
    ...new Set(errors.map(({ extensions }) => extensions.code)),
  ];

  for (const [what, document] of [
    [
      'of nested lists',
      `query ($f: String) { node { ${times(900, (n) => `a${n}: node_collection(filter: $f) { v }`)} } }`,
    ],
    ['of lists', `query ($f: String) { ${times(900, (n) => `a${n}: node(filter: $f) { v }`)} }`],
    [
      'of aggregates',
      `query ($f: String) { Aggregates { ${times(900, (n) => `a${n}: count(subquery: "{ node { v } }", filter: $f)`)} } }`,
    ],
    [
      'of aggregates, written in their subqueries',
      `query { Aggregates { ${times(200, (n) => `a${n}: count(subquery: "{ node(filter: \\"${filter}\\") { v } }")`)} } }`,
    ],
  ] as const) {
    it(`the filter ${what} is refused once there is too much of it`, async () => {
      const longestMs = watchEventLoop();
      const reply = await shop.ask(document, document.includes('$f') ? { f: filter } : {});
      expect(longestMs()).to.be.lessThan(MAX_BLOCK_MS);
      expect(codes(reply)).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
    });
  }

  it('the values of many rows', async () => {
    const values = Array.from({ length: COLUMNS }, (_, n) => [`c${n + 1}`, n] as const);
    const creates = times(400, (n) => `a${n}: create_wide(input: $i) { id }`);
    const input = { id: 1, ...Object.fromEntries(values) };
    const reply = await shop.ask(`mutation ($i: wideInput) { ${creates} }`, { i: input });
    expect(codes(reply)).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
    expect(await shop.data('{ wide { id } }')).to.deep.equal({ wide: [] });
  });

  it('of usual size, they are compiled', async () => {
    const short = { f: 'v = 1 or v = 2 or v is null' };
    await shop.data(`query ($f: String) { ${times(900, (n) => `a${n}: node(filter: $f) { v }`)} }`, short);
    await shop.data(
      `query ($f: String) { node { ${times(900, (n) => `a${n}: node_collection(filter: $f) { v }`)} } }`,
      short,
    );
    const keys = { f: `id in (${Array.from({ length: 1000 }, (_, n) => n).join()})` };
    await shop.data(
      `query ($f: String) { node(filter: $f) { ${times(100, (n) => `a${n}: node_collection(filter: $f) { v }`)} } }`,
      keys,
    );
  });
});
