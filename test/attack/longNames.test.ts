import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

/** A column that no table has. The request is small enough not to need room. */
const NAME = 'x'.repeat(55_000);

/** Asks for it under as many aliases as a request may have. */
function manyTimes(field: string): string {
  const aliases = Array.from({ length: 99 }, (_, index) => `a${index}: ${field}`);
  return JSON.stringify({
    query: `query ($f: String) { ${aliases.join(' ')} }`,
    variables: { f: `${NAME} = 1` },
  });
}

const ENDPOINTS = [
  ['/query', 'item(filter: $f) { id }'],
  ['/roles_pbac', 'role(filter: $f) { roleid }'],
] as const;

describe('attack: a name of 55,000 characters under 99 aliases', function () {
  this.timeout(60_000);
  let fixture: WebFixture;
  let hostile: string;
  let other: string;
  before(async () => {
    fixture = await WebFixture.start({ env: { MAX_ANSWER_BYTES: '500000' } });
    const open = async (name: string): Promise<string> => {
      const { tenantid } = await fixture.createTenant(name, 'create table item (id int primary key)');
      return (await fixture.signIn(tenantid)).access_token;
    };
    hostile = await open('hostile');
    other = await open('other');
  });
  after(() => fixture.stop());

  const send = (path: string, body: string): Promise<Response> =>
    fixture.fetch(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${hostile}`, 'content-type': 'application/json' },
      body,
    });

  for (const [path, field] of ENDPOINTS) {
    it(`is not repeated in the errors of ${path}`, async () => {
      const answer = await (await send(path, manyTimes(field))).text();
      expect(answer).to.include('xxxxx');
      // A message and a hint for each, of at most 1,000 characters.
      expect(answer.length).to.be.below(99 * 2_300);
    });

    it(`holds up no other tenant at ${path}`, async () => {
      const delays = monitorEventLoopDelay({ resolution: 5 });
      let isOver = false;
      const attacks = Array.from({ length: 4 }, async () => {
        while (!isOver) await (await send(path, manyTimes(field))).text();
      });
      delays.enable();
      for (let request = 0; request < 40; request++) {
        const { errors } = await fixture.graphql('/query', other, '{ item { id } }');
        expect(errors).to.equal(undefined);
      }
      delays.disable();
      isOver = true;
      await Promise.all(attacks);
      // It was 700 to 2,000.
      expect(delays.max / 1e6).to.be.below(400);
    });
  }

  it('errors count as an answer', async () => {
    const items = Array.from({ length: 900 }, (_, index) => `a${index}: item(filter: $f) { id }`);
    const query = `query ($f: String) { ${items.join(' ')} }`;
    const errors = async (name: string): Promise<readonly string[]> => {
      const answer = await fixture.graphql('/query', hostile, query, { f: `${name} = 1` });
      return [...new Set(answer.errors?.map(({ extensions }) => extensions.code))];
    };
    expect(await errors('x')).to.deep.equal(['FILTER_UNKNOWN_COLUMN']);
    expect(await errors(NAME)).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
  });
});
