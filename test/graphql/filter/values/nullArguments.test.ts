import { expect } from 'chai';
import { FUNCTIONS, type Parameter } from '../../../../src/graphql/filter/values/functionTable.js';
import { openShop, type Shop } from '../../support/shop.js';

/** Something that each kind of argument may be; those left out can't be null, as units, or have no literal of their own. */
const SAMPLES: Partial<Record<Parameter, string>> = {
  text: "'a'",
  number: '2',
  whole: '1',
  moment: "'2026-02-03'",
  span: "'2026-02-03'",
  interval: "'1 day'",
};
const OTHERS: Partial<Record<Parameter, string>> = { unit: "'day'", wholeUnit: "'day'" };

describe('functions of filters', () => {
  let shop: Shop;
  before(
    async () => (shop = await openShop('create table one (id int primary key); insert into one values (1)')),
  );
  after(() => shop.close());

  let tried = 0;
  for (const [name, { parameters, strict }] of FUNCTIONS) {
    const samples = parameters.map((parameter) => SAMPLES[parameter] ?? OTHERS[parameter]);
    if (strict === false || samples.length === 0 || samples.includes(undefined)) continue;
    for (const [at, parameter] of parameters.entries()) {
      if (SAMPLES[parameter] === undefined) continue;
      const call = `${name}(${samples.map((sample, i) => (i === at ? 'null' : sample)).join(', ')})`;
      tried++;
      it(`${call} is null`, async () => {
        const data = await shop.data(
          `query ($is: String, $not: String) {
          is: one(filter: $is) { id } not: one(filter: $not) { id } }`,
          {
            is: `${call} is null`,
            not: `${call} is not null`,
          },
        );
        expect(data).to.deep.equal({ is: [{ id: '1' }], not: [] });
      });
    }
  }

  it('are most of them tried', () => {
    expect(tried).to.be.greaterThan(30);
  });
});
