import { expect } from 'chai';
import { markNumbers, removeMarks } from '../../src/email/templateRecords.js';

const numerics = (...names: string[]) => new Map(names.map((name) => [name, { kind: 'numeric' as const }]));

describe('markers of numerics in template records', () => {
  it('are set on numbers of the named columns, and of their lists', () => {
    const record = '{"a":1.10,"b":1.10,"c":[1,2.50,null],"d":{"a":1},"e":"\\"a\\":1,","a\\"b": -0.5}';
    const marked = '{"a":1.10E0,"b":1.10,"c":[1E0,2.50E0,null],"d":{"a":1},"e":"\\"a\\":1,","a\\"b": -0.5E0}';
    expect(markNumbers(record, numerics('a', 'c', 'a"b'))).to.equal(marked);
    expect(removeMarks(marked)).to.equal(record);
  });

  it('leave other columns alone where bytes become base64, as queries show them', () => {
    const record = String.raw`{"a":"\\x00ff5c","b":"\\x00ff","c":["\\x",null,"\\x01"],"d":null,"e":"\\x00"}`;
    const bytes = new Map(['a', 'c', 'd'].map((name) => [name, { kind: 'bytea' as const }]));
    expect(markNumbers(record, bytes)).to.equal(
      String.raw`{"a":"AP9c","b":"\\x00ff","c":["",null,"AQ=="],"d":null,"e":"\\x00"}`,
    );
  });

  it('leave NaN, null and text alone', () => {
    const record = '{"a":"NaN","b":null,"c":"10E0"}';
    expect(markNumbers(record, numerics('a', 'b', 'c'))).to.equal(record);
    expect(removeMarks(record)).to.equal(record);
  });
});
