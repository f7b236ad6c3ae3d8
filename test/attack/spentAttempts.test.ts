import { expect } from 'chai';
import { cookieName } from '../../src/api/oidc/browserBinding.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';

/** A page that somebody has open makes their browser send requests, which come from their address. */
describe("attack: another site's page uses up its users' attempts to sign in", () => {
  const FROM_PAGE = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const FORM = { ...FROM_PAGE, 'content-type': 'application/x-www-form-urlencoded' };
  const OF_APP = { origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' };
  let fixture: WebFixture;
  let tenantid: number;

  const start = async (env: Readonly<Record<string, string>>): Promise<void> => {
    fixture = await WebFixture.start({ env });
    ({ tenantid } = await fixture.createTenant('shop'));
  };
  afterEach(() => fixture.stop());

  const signIn = async (headers: Readonly<Record<string, string>> = {}): Promise<number> =>
    (await fixture.postJson('/auth', { tenantid, login: ROOT_LOGIN, password: ROOT_PASSWORD }, headers))
      .status;
  const guess = async (path: string, headers: Readonly<Record<string, string>> = FORM): Promise<number> => {
    const fields = {
      tenantid: String(tenantid),
      tenant: 'shop',
      login: ROOT_LOGIN,
      password: 'a wrong guess',
    };
    const response = await fixture.fetch(path, {
      method: 'POST',
      headers,
      body: new URLSearchParams(fields).toString(),
      redirect: 'manual',
    });
    return response.status;
  };

  it('for a login', async () => {
    await start({ SIGN_IN_FAILURES_PER_LOGIN: '2' });
    for (let tries = 0; tries < 4; tries += 1) expect(await guess('/auth')).to.equal(403);
    expect(await signIn()).to.equal(200);
  });

  it('at an address', async () => {
    await start({ SIGN_INS_PER_ADDRESS: '3' });
    for (const path of ['/auth', '/anonauth', '/oidc', '/signin', '/signin/oidc', '/console/sign-in']) {
      expect(await guess(path), path).to.equal(403);
    }
    for (const path of ['/auth', '/oidc?state=x', '/oidc/7?state=x', '/anonauth']) {
      await fixture.fetch(path, { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } });
    }
    expect(await signIn()).to.equal(200);
  });

  it('while callbacks that may complete a sign-in are counted', async () => {
    await start({ SIGN_INS_PER_ADDRESS: '3' });
    const cookie = `${cookieName('x', fixture.config.baseUrl, 'sign-in')}=made up`;
    const callback = async (): Promise<number> =>
      (await fixture.fetch('/oidc?state=x', { headers: { cookie } })).status;
    for (let tries = 0; tries < 3; tries += 1) expect(await callback()).to.equal(400);
    expect(await callback()).to.equal(429);
  });

  it('but programs, pages of this service and origins in CORS_ORIGINS sign in', async () => {
    await start({ CORS_ORIGINS: OF_APP.origin });
    const proxied = { origin: 'http://localhost:5173', 'sec-fetch-site': 'same-origin' };
    for (const headers of [{}, OF_APP, proxied, { origin: 'capacitor://localhost' }]) {
      expect(await signIn(headers), JSON.stringify(headers)).to.equal(200);
    }
    expect(await signIn(FROM_PAGE)).to.equal(403);
  });

  it('and all origins where CORS_ORIGINS is *', async () => {
    await start({ CORS_ORIGINS: '*' });
    expect(await signIn(FROM_PAGE)).to.equal(200);
  });
});
