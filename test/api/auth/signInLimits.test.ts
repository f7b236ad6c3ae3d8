import { expect } from 'chai';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../webFixture.js';

describe('sign-in limits', () => {
  let fixture: WebFixture;

  const start = async (env: Readonly<Record<string, string>>): Promise<number> => {
    fixture = await WebFixture.start({ env });
    return (await fixture.createTenant('shop')).tenantid;
  };
  afterEach(() => fixture.stop());

  async function expectLimited(response: Response, maxSeconds: number): Promise<void> {
    expect(response.status).to.equal(429);
    expect(await response.json()).to.include({ status: 429, code: 'RATE_LIMITED' });
    const seconds = Number(response.headers.get('retry-after'));
    expect(seconds).to.be.within(1, maxSeconds);
  }

  it('count wrong passwords per login, known or not, without affecting other logins', async () => {
    const tenantid = await start({ SIGN_IN_FAILURES_PER_LOGIN: '2' });
    const attempt = (login: string, password: string): Promise<Response> =>
      fixture.postJson('/auth', { tenantid, login, password });
    for (const login of ['nobody here', ROOT_LOGIN]) {
      for (let failures = 0; failures < 2; failures += 1) {
        expect((await attempt(login, 'wrong')).status).to.equal(401);
      }
      await expectLimited(await attempt(login, ROOT_PASSWORD), 900);
    }
    expect((await attempt('another', 'wrong')).status).to.equal(401);
  });

  it('count concurrent guesses', async () => {
    const tenantid = await start({ SIGN_IN_FAILURES_PER_LOGIN: '3' });
    const guesses = Array.from({ length: 8 }, () =>
      fixture.postJson('/auth', { tenantid, login: ROOT_LOGIN, password: 'wrong' }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).to.have.length(3);
    expect(statuses.filter((status) => status === 429)).to.have.length(5);
  });

  it('do not count successful sign-ins', async () => {
    const tenantid = await start({ SIGN_IN_FAILURES_PER_LOGIN: '2' });
    for (let times = 0; times < 4; times += 1) await fixture.signIn(tenantid);
  });

  it('count all requests per address', async () => {
    const tenantid = await start({ SIGN_INS_PER_ADDRESS: '4', TRUST_PROXY: '1' });
    const from = (address: string, path: string): Promise<Response> =>
      fixture.postJson(path, { tenantid }, { 'x-forwarded-for': address });
    for (const path of ['/auth', '/anonauth', '/oidc', '/signin']) {
      expect((await from('192.0.2.1', path)).status, path).not.to.equal(429);
    }
    for (const path of ['/auth', '/anonauth', '/oidc', '/signin']) {
      await expectLimited(await from('192.0.2.1', path), 60);
    }
    expect((await from('192.0.2.2', '/auth')).status).to.equal(400);
  });

  it('count an IPv6 site as one address', async () => {
    const tenantid = await start({ SIGN_INS_PER_ADDRESS: '1', TRUST_PROXY: '1' });
    const from = (address: string): Promise<Response> =>
      fixture.postJson('/anonauth', { tenantid }, { 'x-forwarded-for': address });
    expect((await from('2001:db8:1:2::1')).status).to.equal(403);
    await expectLimited(await from('2001:db8:1:2:3:4:5:6'), 60);
    expect((await from('2001:db8:1:3::1')).status).to.equal(403);
  });

  it('are disabled by 0', async () => {
    const tenantid = await start({ SIGN_INS_PER_ADDRESS: '0', SIGN_IN_FAILURES_PER_LOGIN: '0' });
    for (let times = 0; times < 3; times += 1) {
      const response = await fixture.postJson('/auth', { tenantid, login: 'x', password: 'x' });
      expect(response.status).to.equal(401);
    }
  });
});
