import { expect } from 'chai';
import { ROOT_LOGIN, WebFixture } from '../api/webFixture.js';

/** Refusals of a second are stored together. Whoever guesses passwords would like to leave no trace. */
describe('attack: a refusal that can not be stored, so that none is recorded', () => {
  let fixture: WebFixture;
  let tenantid: number;
  beforeEach(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('shop'));
  });
  afterEach(() => fixture.stop());

  const guess = (login: string, of = tenantid): Promise<Response> =>
    fixture.postJson('/auth', { tenantid: of, login, password: 'a wrong guess' });
  const recorded = async (): Promise<unknown> => {
    const { rows } = await fixture.testDatabase.database.pool.query(
      `select roleid is not null as known, reason, sum(count)::int as count from rowpost.sign_in_event
       where tenantid = $1 and kind = 'refused' group by 1, 2 order by 1`,
      [tenantid],
    );
    return rows;
  };

  it('because its login is no text, nor any other of the same second', async () => {
    const unstorable = ['\ud800', 'x\udc00', '\udc00\ud800', 'a\ud83d'];
    await Promise.all([ROOT_LOGIN, ...unstorable, ROOT_LOGIN].map((login) => guess(login)));
    expect((await guess('a\0b')).status).to.equal(400);
    // Stores what is left.
    await fixture.web.stop();
    expect(await recorded()).to.deep.equal([
      { known: false, reason: 'LOGIN_FAILED', count: unstorable.length },
      { known: true, reason: 'LOGIN_FAILED', count: 2 },
    ]);
  });

  it('because its tenant is being deleted, which takes a while', async () => {
    const { pool } = fixture.testDatabase.database;
    const large = await fixture.createTenant('large');
    const client = await pool.connect();
    await client.query('begin');
    await client.query('select from rowpost.tenant where tenantid = $1 for update', [large.tenantid]);
    await client.query('delete from rowpost.role where tenantid = $1', [large.tenantid]);
    await Promise.all([guess(ROOT_LOGIN), guess(ROOT_LOGIN, large.tenantid)]);
    await fixture.web.stop();
    await client.query('rollback');
    client.release();
    expect(await recorded()).to.deep.equal([{ known: true, reason: 'LOGIN_FAILED', count: 1 }]);
  });
});
