import { expect } from 'chai';
import { at, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { cpuTimer } from '../support/cpuTime.js';

const TABLES = 300;
const SET = `mutation ($tables: [String!]!, $except: [String!]) {
  Utility { set_captures(tables: $tables, except: $except, writers: api) { table result } } }`;

describe('attack: patterns of tables without end, each compared with each table', () => {
  let fixture: WebFixture;
  let root: string;
  before(async () => {
    fixture = await WebFixture.start();
    const tables = Array.from({ length: TABLES }, (_, n) => `create table t${n} (id int primary key)`);
    const { tenantid } = await fixture.createTenant(
      'hostile',
      [...tables, 'create table z (id int)'].join(';'),
    );
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const set = (tables: readonly string[], except: readonly string[] = []): Promise<GraphqlResult> =>
    fixture.control(root, SET, { tables, except });
  const many = (pattern: (n: number) => string, length = 50_000): string[] =>
    Array.from({ length }, (_, n) => pattern(n));

  it('are compared once each, and names not at all', async () => {
    const elapsedMs = cpuTimer();
    const result = await set(
      many(() => 'z*'),
      [...many(() => 'y*'), ...many((n) => `other${n}`, 10_000)],
    );
    // 300 tables took 2.5 s.
    expect(elapsedMs()).to.be.below(1_500);
    expect(at(result, 'data.Utility.set_captures')).to.deep.equal([{ table: 'z', result: 'left_out' }]);
  });

  it('are at most a hundred, of two hundred characters', async () => {
    const hundred = many((n) => `t${n}*`, 100);
    expect((await set(hundred)).errors).to.equal(undefined);
    for (const wrong of [[...hundred, 'z*'], ['*'.repeat(201)]]) {
      const message = 'has at most 100 patterns of 200 characters.';
      expect((await set(wrong)).errors?.[0]?.message).to.equal(`tables ${message}`);
      expect((await set(['z'], wrong)).errors?.[0]?.message).to.equal(`except ${message}`);
    }
  });
});
