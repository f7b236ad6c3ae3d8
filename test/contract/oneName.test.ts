import { expect } from 'chai';
import { addGraphqlNames } from '../../src/email/graphqlNames.js';

describe('consistent names: template records use the names of queries and conditions', () => {
  const cases: [record: string, served: string][] = [
    ['{"odd-name":1,"x":2}', '{"odd-name":1,"x":2,"odd_name":1}'],
    [
      '{"net price":10.00,"1st":12345678901234567890}',
      '{"net price":10.00,"1st":12345678901234567890,"net_price":10.00,"_1st":12345678901234567890}',
    ],
    ['{"__own":null}', '{"__own":null,"_own":null}'],
    // Taken by a column of that name.
    ['{"odd-name":1,"odd_name":2}', '{"odd-name":1,"odd_name":2}'],
    ['{"a":"odd-value\\": ","b":{"odd-key":1}}', '{"a":"odd-value\\": ","b":{"odd-key":1}}'],
  ];
  for (const [record, served] of cases) {
    it(record, () => expect(addGraphqlNames(record)).to.equal(served));
  }

  it('leaves plain records untouched, as text', () => {
    const record = '{"name" : "Ada", "total":10.50}';
    expect(addGraphqlNames(record)).to.equal(record);
    expect(addGraphqlNames(null)).to.equal('null');
  });
});
