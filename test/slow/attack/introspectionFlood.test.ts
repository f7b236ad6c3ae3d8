import { expect } from 'chai';
import { getIntrospectionQuery } from 'graphql';
import { at, WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

const TABLES = Array.from(
  { length: 60 },
  (_, table) =>
    `create table t${table} (id int primary key, ${Array.from({ length: 30 }, (_, i) => `c${i} text`).join(', ')});`,
).join('\n');

/** One field of each field of the schema, under so many names. */
const names = (count: number): string =>
  `{ __schema { types { fields { ${Array.from({ length: count }, (_, i) => `a${i}: name`).join(' ')} } } } }`;
const aliases = (count: number, field: string): string =>
  `{ Utility { ${Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ')} } }`;

describe('attack: introspection flood', () => {
  let fixture: WebFixture;
  let root: string;
  let clerk: string;
  let nobody: string;
  let other: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile', TABLES);
    root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const visit = await fixture.postJson('/anonauth', { tenantid });
    nobody = ((await visit.json()) as { access_token: string }).access_token;
    clerk = (await fixture.createMember(root, 'clerk', ['select', 'view_role'])).token;
    const quiet = await fixture.createTenant('other', 'create table note (id int primary key)');
    other = (await fixture.signIn(quiet.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const codesOf = ({ errors }: GraphqlResult): string[] => [
    ...new Set(errors?.map(({ extensions }) => extensions.code)),
  ];

  /** @returns the longest time for which nobody else was served, in milliseconds */
  async function longestHold(attack: () => Promise<unknown>): Promise<number> {
    await fixture.graphql('/query', other, '{ note { id } }');
    const longestMs = watchEventLoop();
    const state = { isOver: false };
    const attacks = attack().finally(() => (state.isOver = true));
    while (!state.isOver) await fixture.graphql('/query', other, '{ note { id } }');
    await attacks;
    return longestMs();
  }

  it('is answered in full to every tool', async () => {
    for (const path of ['/query', '/roles_pbac'] as const) {
      for (const token of [clerk, nobody]) {
        const result = await fixture.graphql(path, token, getIntrospectionQuery());
        expect(codesOf(result)).to.deep.equal([]);
        expect(at(result, 'data.__schema.queryType.name')).to.equal('Query');
      }
    }
    const mixed =
      '{ a: __typename b: __type(name: "role") { name } capability(limit: 1) { subset } c: __typename }';
    const { data } = await fixture.control(clerk, mixed);
    expect(Object.keys(data ?? {})).to.deep.equal(['a', 'b', 'capability', 'c']);
    expect(data?.['b']).to.deep.equal({ name: 'role' });
  });

  it('does not block the event loop, and stops at the response size limit', async () => {
    const results: GraphqlResult[] = [];
    const held = await longestHold(async () => {
      results.push(await fixture.graphql('/query', clerk, names(1_900)));
      results.push(await fixture.graphql('/roles_pbac', clerk, names(1_900)));
      results.push(...(await Promise.all([1, 2, 3, 4].map(() => fixture.control(nobody, names(390))))));
    });
    for (const result of results) {
      expect(codesOf(result)).to.satisfy(
        (codes: string[]) => codes[0] === 'DOCUMENT_TOO_COMPLEX' || codes[0] === 'TOO_BUSY',
      );
    }
    // The test process sends and reads as well. It was 3 to 20 s.
    expect(held).to.be.below(500);
  });

  it('is read once for all aliases of Utility { introspect }', async () => {
    let response: GraphqlResult = {};
    const held = await longestHold(async () => {
      response = await fixture.control(root, aliases(100, 'introspect'));
    });
    expect(codesOf(response)).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
    expect(held).to.be.below(1_000);
    expect(codesOf(await fixture.control(root, aliases(101, 'introspect')))).to.deep.equal([
      'DOCUMENT_TOO_COMPLEX',
    ]);
  });

  it("and settings of the tenant can't take all connections", async () => {
    const many = aliases(100, 'anonymous_logins(enable: true)');
    const held = await longestHold(async () => {
      expect(codesOf(await fixture.control(root, many))).to.deep.equal([]);
    });
    expect(held).to.be.below(500);
    expect(
      codesOf(await fixture.control(root, aliases(1_900, 'anonymous_logins(enable: true)'))),
    ).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
  });

  it('and lists of /roles_pbac stay within the value limit', async () => {
    const roles = Array.from(
      { length: 99 },
      (_, i) => `m${i}: create_role(input: {login: "x${i}"}) { roleid }`,
    );
    expect(codesOf(await fixture.control(root, `mutation { ${roles.join(' ')} }`))).to.deep.equal([]);
    const wide = Array.from({ length: 1_900 }, (_, i) => `a${i}: roleid`).join(' ');
    const held = await longestHold(async () => {
      expect(codesOf(await fixture.control(clerk, `{ role(limit: 1000) { ${wide} } }`))).to.deep.equal([
        'DOCUMENT_TOO_COMPLEX',
      ]);
    });
    expect(held).to.be.below(500);
  });
});
