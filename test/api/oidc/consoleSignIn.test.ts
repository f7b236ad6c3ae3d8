import { expect } from 'chai';
import { HttpBrowser } from './support/httpBrowser.js';
import { MisbehavingProvider } from './support/misbehavingProvider.js';
import { OidcFixture } from './support/oidcFixture.js';

const WANTED = '/console/failures?within=all';

describe('signing in to the console with a provider', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let confid: number;

  before(async () => {
    fixture = await OidcFixture.start();
    provider = await MisbehavingProvider.start();
    confid = await fixture.createConfig(await fixture.createProvider(provider.endpoints));
    await fixture.createMappedRole('somebody', confid, 'somebody');
  });
  beforeEach(() => {
    provider.misbehavior = {};
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  const choose = (
    browser: HttpBrowser,
    values: Readonly<Record<string, string>>,
    headers = {},
  ): Promise<Response> =>
    browser.send(`${fixture.baseUrl}/console/sign-in/provider`, {
      method: 'POST',
      headers: { origin: fixture.baseUrl, ...headers },
      body: new URLSearchParams({ tenant: 'shop', next: WANTED, confid: String(confid), ...values }),
    });
  const within = (next: string): boolean => !next.startsWith(`${fixture.baseUrl}/console`);

  it('redirects to the requested page with a session, and puts no token in any URL', async () => {
    const browser = new HttpBrowser();
    const page = await (await browser.send(`${fixture.baseUrl}/console/sign-in?tenant=shop`)).text();
    expect(page).to.include('formaction="/console/sign-in/provider"').and.include('Continue with provider 1');
    const started = await choose(browser, { login: 'somebody' });
    expect(started.status).to.equal(303);
    const { url, response } = await browser.follow(started.headers.get('location')!, within);
    expect(url).to.equal(`${fixture.baseUrl}${WANTED}`);
    expect(response.headers.getSetCookie().join('\n'))
      .to.match(/rowpost_console=[\w-]+;.*HttpOnly/)
      .and.not.match(/eyJ[\w-]+\./);
    const landed = await (await browser.send(url)).text();
    // The role may sign in, and may not read deliveries.
    expect(landed).to.include('somebody').and.include('view_delivery');
  });

  it('shows what went wrong on a page, and keeps the requested page', async () => {
    const browser = new HttpBrowser();
    provider.misbehavior = { claims: { sub: 'somebody else' } };
    const started = await choose(browser, { login: 'somebody' });
    const { url } = await browser.follow(started.headers.get('location')!, within);
    expect(new URL(url).searchParams.get('next')).to.equal(WANTED);
    const response = await browser.send(url);
    expect(response.status).to.equal(403);
    expect(await response.text())
      .to.include('The sign-in with the provider did not succeed.')
      .and.include('<strong>shop</strong>');
  });

  it('shows people a page if the sign-in is over or of another browser, and responds to programs in JSON', async () => {
    const browser = new HttpBrowser();
    const started = await choose(browser, { login: 'somebody' });
    const isProvider = (next: string): boolean => !next.startsWith(fixture.baseUrl);
    const { url } = await browser.follow(started.headers.get('location')!, isProvider);
    const headers = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
    for (const client of [new HttpBrowser(), browser]) {
      if (client === browser) expect((await browser.send(url, { headers })).status).to.equal(303);
      const page = await client.send(url, { headers });
      expect(page.status).to.equal(400);
      expect(page.headers.get('content-type')).to.include('text/html');
      expect(page.headers.get('cache-control')).to.equal('no-store');
      expect(page.headers.get('content-security-policy')).to.include("default-src 'none'");
      expect(await page.text())
        .to.include('The sign-in did not succeed')
        .and.include('The sign-in was already completed')
        .and.include('href="/console/sign-in"')
        .and.include('OIDC_STATE_INVALID');
      expect(await (await client.send(url)).json()).to.include({ status: 400, code: 'OIDC_STATE_INVALID' });
    }
  });

  it('responds to an unknown tenant as one without such a provider', async () => {
    for (const [tenant, id] of [
      ['shop', '999999'],
      ['no such shop', String(confid)],
    ] as const) {
      const response = await choose(new HttpBrowser(), { tenant, login: 'somebody', confid: id });
      const text = `The tenant has no OpenID Connect configuration ${id}.`;
      expect([response.status, (await response.text()).includes(text)], tenant).to.deep.equal([404, true]);
    }
  });

  it('needs no login, and reveals nothing about unknown ones', async () => {
    const none = await choose(new HttpBrowser(), { login: '' });
    expect([none.status, none.headers.get('location')?.startsWith(provider.issuer)]).to.deep.equal([
      303,
      true,
    ]);
    const pages = await Promise.all(
      ['nobody here', 'root'].map(async (login) => {
        const response = await choose(new HttpBrowser(), { login });
        return `${response.status} ${(await response.text()).replaceAll(login, 'LOGIN')}`;
      }),
    );
    expect(pages[0]).to.equal(pages[1]);
    expect(pages[0]).to.match(/^403 /);
  });

  it("can't be started by another site, neither by the form nor through return_to of /oidc", async () => {
    const foreign = await choose(
      new HttpBrowser(),
      { login: 'somebody' },
      { origin: 'https://evil.example' },
    );
    expect(foreign.status).to.equal(403);
    const { roleid } = await fixture.web.createMember(fixture.root, 'other', ['login']);
    await fixture.map(roleid, confid, 'somebody');
    for (const return_to of [WANTED, `${fixture.baseUrl}${WANTED}`]) {
      const browser = new HttpBrowser();
      const response = await browser.send(fixture.redirectUri, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ tenantid: fixture.tenant.tenantid, roleid, confid, return_to }),
      });
      if (response.status === 400) continue;
      const { response: last } = await browser.follow(response.headers.get('location')!, within);
      expect(last.headers.getSetCookie().join('\n'), return_to).not.to.include('rowpost_console');
    }
  });
});
