import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

const LEVELS = 100_000;

/** They overflowed the stack while the request was hashed: an internal error, each logged with its stack, from any client. */
describe('attack: variables that nest deeper than the stack, with an Idempotency-Key', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table note (id int primary key)');
    token = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  for (const [what, value] of [
    ['lists', `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`],
    ['objects', `${'{"a":'.repeat(LEVELS)}1.0${'}'.repeat(LEVELS)}`],
  ] as const) {
    it(`are refused: ${what}`, async () => {
      const response = await fixture.fetch('/query', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'idempotency-key': what,
        },
        body: `{"query": "mutation { create_note(input: {id: 1}) { id } }", "variables": {"deep": ${value}}}`,
      });
      expect(response.status).to.equal(200);
      expect(await response.text()).to.include('BAD_USER_INPUT');
    });
  }
});
