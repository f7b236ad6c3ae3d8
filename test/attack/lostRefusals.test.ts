import { expect } from 'chai';
import { ROOT_LOGIN, WebFixture } from '../api/webFixture.js';

/** Refusals of a second are stored together. Whoever guesses passwords would like to leave no trace. */
describe('attack: logins that can not be stored, so that no refusal is recorded', () => {
  let fixture: WebFixture;
  let tenantid: number;
  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('shop'));
  });
  after(() => fixture.stop());

  const guess = (login: string): Promise<Response> =>
    fixture.postJson('/auth', { tenantid, login, password: 'a wrong guess' });
  const recorded = async (): Promise<unknown> => {
    const { rows } = await fixture.testDatabase.database.pool.query(
      `select roleid is not null as known, reason, sum(count)::int as count from rowpost.sign_in_event
       where tenantid = $1 and kind = 'refused' group by 1, 2 order by 1`,
      [tenantid],
    );
    return rows;
  };

  it('of this login, nor of any other of the same second', async () => {
    const unstorable = ['\ud800', 'x\udc00', '\udc00\ud800', 'a\ud83d'];
    await Promise.all([ROOT_LOGIN, ...unstorable, ROOT_LOGIN].map(guess));
    expect((await guess('a\0b')).status).to.equal(400);
    // Stores what is left.
    await fixture.web.stop();
    expect(await recorded()).to.deep.equal([
      { known: false, reason: 'LOGIN_FAILED', count: unstorable.length },
      { known: true, reason: 'LOGIN_FAILED', count: 2 },
    ]);
  });
});
