import { expect } from 'chai';
import { hashPassword } from '../../../src/control/roles/passwords.js';
import { setPassword } from '../../../src/control/roles/roles.js';
import { signIn } from '../../../src/api/auth/signIn.js';
import { PRINCIPAL_MAX_AGE_MS } from '../../../src/db/roles/principal.js';
import { AppError } from '../../../src/foundation/errors.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture, type AuthBody } from '../../api/webFixture.js';
import { waitFor } from '../../support/waitFor.js';
import { knexOf } from '../../support/knexOf.js';

/**
 * Whoever has stolen a refresh token or a password may use it all the time. What they get within the second in which a process
 * doesn't know that the password was changed must end with the rest.
 */
describe('attack: tokens asked for while the password is changed', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let roleid: number;

  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    ({ tenantid } = await fixture.createTenant('shop', 'create table note (id int primary key)'));
    ({ roleid } = await fixture.signIn(tenantid));
  });
  after(() => fixture.stop());
  afterEach(() => changePassword(ROOT_PASSWORD));

  /** As another process does. */
  async function changePassword(password: string): Promise<void> {
    await setPassword(
      fixture.testDatabase.database.pool,
      tenantid,
      roleid,
      await hashPassword(password, 4),
      roleid,
    );
  }

  const authorized = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

  async function expectRevoked({ access_token, refresh_token }: AuthBody): Promise<void> {
    const ask = (): Promise<Response> => fixture.fetch('/query?query={__typename}', authorized(access_token));
    await waitFor('the new token to be revoked', async () => (await ask()).status === 401, {
      timeoutMs: 2 * PRINCIPAL_MAX_AGE_MS,
    });
    expect((await fixture.fetch('/auth', authorized(refresh_token))).status).to.equal(401);
  }

  it('by a refresh token, of a process that has not noticed yet', async () => {
    const { refresh_token } = await fixture.signIn(tenantid);
    await changePassword('another password');
    const response = await fixture.fetch('/auth', authorized(refresh_token));
    expect(response.status, 'still in the cache').to.equal(200);
    await expectRevoked((await response.json()) as AuthBody);
  });

  it('by Utility.role_token, of a process that has not noticed yet', async () => {
    const { access_token } = await fixture.signIn(tenantid);
    await changePassword('another password');
    const response = await fixture.control(access_token, `{ Utility { role_token(roleid: ${roleid}) } }`);
    const token = (response.data?.['Utility'] as { role_token: string }).role_token;
    await expectRevoked({ access_token: token, refresh_token: token } as AuthBody);
  });

  it('by the old password, which is still being verified', async () => {
    const { principals } = fixture;
    const { database } = fixture.testDatabase;
    const meanwhile = Object.assign(Object.create(principals) as typeof principals, {
      reload: async (...of: [number, number]) => {
        await changePassword('another password');
        return principals.reload(...of);
      },
    });
    const attempt = signIn(
      { database, principals: meanwhile },
      { tenantid, login: ROOT_LOGIN, password: ROOT_PASSWORD },
    );
    const error = await attempt.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).to.be.instanceOf(AppError).and.include({ code: 'LOGIN_FAILED' });
  });

  it('end although the clocks of processes differ', async () => {
    const knex = knexOf(fixture.testDatabase.database);
    // When the clock of PostgreSQL was ahead.
    const ahead = knex.raw("now() + interval '1 hour'");
    await knex('rowpost.role').where({ roleid }).update({ tokens_valid_from: ahead });
    const auth = await fixture.signIn(tenantid);
    await changePassword('another password');
    await expectRevoked(auth);
  });
});
