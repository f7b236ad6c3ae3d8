import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { at, ROOT_LOGIN, ROOT_PASSWORD, textAt } from '../../../api/webFixture.js';
import {
  startCertifiedProvider,
  type CertifiedProvider,
} from '../../../api/oidc/support/certifiedProvider.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { CLIENT, OidcFixture } from '../../../api/oidc/support/oidcFixture.js';
import { collectComplaints, HAS_CHROMIUM, openTab, startChromium } from '../../../support/chromium.js';

describe('GET /signin', () => {
  let fixture: OidcFixture;
  let provider: CertifiedProvider;
  let confid: number;
  let page: string;

  before(async () => {
    fixture = await OidcFixture.start();
    provider = await startCertifiedProvider([{ ...CLIENT, redirect_uris: [fixture.redirectUri] }]);
    confid = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
    );
    await fixture.createMappedRole('ada', confid, 'ada-at-provider');
    page = `${fixture.baseUrl}/signin?tenantid=${fixture.tenant.tenantid}`;
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  const submit = (path: string, values: Readonly<Record<string, string>>, headers = {}): Promise<Response> =>
    fetch(`${fixture.baseUrl}${path}`, {
      method: 'POST',
      body: new URLSearchParams({ tenantid: String(fixture.tenant.tenantid), ...values }),
      headers,
      redirect: 'manual',
    });

  it("shows the tenant's providers and the password form", async () => {
    const response = await fetch(page);
    const html = await response.text();
    expect(response.status).to.equal(200);
    expect(html).to.match(/Continue with\s+provider 1/);
    expect(html).to.include(`value="${confid}" formaction="/signin/oidc"`);
    expect(response.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
  });

  it('asks for a missing tenant, and reveals nothing about unknown ones', async () => {
    expect(await (await fetch(`${fixture.baseUrl}/signin`)).text()).to.include('id="tenantid"');
    const unknown = await fetch(`${fixture.baseUrl}/signin?tenantid=424242`);
    expect(unknown.status).to.equal(200);
    expect(await unknown.text()).not.to.include('Continue with');
  });

  it('escapes echoed input', async () => {
    const evil = encodeURIComponent('"><script>alert(1)</script>');
    const html = await (await fetch(`${page}&login=${evil}&return_to=${evil}&tenantid=${evil}`)).text();
    expect(html).not.to.include('<script>');
  });

  it('signs in with a password, and shows errors on the page', async () => {
    const right = await submit('/signin', { login: ROOT_LOGIN, password: ROOT_PASSWORD });
    expect(at(await right.json(), 'message')).to.equal('Logged in as root.');
    const wrong = await submit('/signin', { login: ROOT_LOGIN, password: 'wrong' });
    expect(wrong.status).to.equal(401);
    expect(await wrong.text()).to.include('The login or the password is wrong.');
    const elsewhere = await submit('/signin', {
      login: ROOT_LOGIN,
      password: ROOT_PASSWORD,
      return_to: 'https://evil.example/',
    });
    expect(elsewhere.status).to.equal(400);
    const back = await submit('/signin', {
      login: ROOT_LOGIN,
      password: ROOT_PASSWORD,
      return_to: `${fixture.baseUrl}/welcome`,
    });
    expect(back.headers.get('location')).to.match(/\/welcome#access_token=/);
  });

  it('shows a page, with the time to wait, after too many attempts', async () => {
    // The fixture has signed in twice by now.
    const limited = await OidcFixture.start({ env: { SIGN_INS_PER_ADDRESS: '2' } });
    try {
      const attempt = (accept: string): Promise<Response> =>
        limited.web.fetch('/signin', { method: 'POST', headers: { accept }, body: new URLSearchParams() });
      const response = await attempt('text/html');
      expect(response.status).to.equal(429);
      const seconds = response.headers.get('retry-after')!;
      expect(await response.text()).to.include(`Try again in ${seconds} seconds.`);
      expect(await (await attempt('application/json')).json()).to.include({ code: 'RATE_LIMITED' });
    } finally {
      await limited.stop();
    }
  });

  it('responds to an unknown login and one without an identity identically', async () => {
    const pages = await Promise.all(
      ['nobody', ROOT_LOGIN].map(async (login) => {
        const response = await submit('/signin/oidc', { login, confid: String(confid) });
        return `${response.status} ${await response.text()}`.replaceAll(login, 'LOGIN');
      }),
    );
    expect(pages[0]).to.equal(pages[1]);
    expect(pages[0]).to.match(/^403 /);
  });

  it('finds the role by the identity if a provider was chosen without a login', async () => {
    const browser = new HttpBrowser();
    const tenantid = String(fixture.tenant.tenantid);
    const started = await browser.send(`${fixture.baseUrl}/signin/oidc`, {
      method: 'POST',
      body: new URLSearchParams({ tenantid, login: '', confid: String(confid) }),
    });
    const callback = await fixture.logIn(browser, started.headers.get('location')!, 'ada-at-provider');
    const body = await fixture.readAuthBody(await browser.send(callback));
    expect(body.message).to.equal('Logged in as ada.');
  });

  it('rejects forms from other sites', async () => {
    const values = { login: ROOT_LOGIN, password: ROOT_PASSWORD };
    const response = await submit('/signin', values, { 'sec-fetch-site': 'cross-site' });
    expect(response.status).to.equal(403);
  });

  // A machine without Chromium still runs the same steps over HTTP, in the tests beside this one.
  if (HAS_CHROMIUM) {
    describe('in Chromium', () => {
      let browser: Browser;
      before(async () => {
        browser = await startChromium();
      });
      after(() => browser.close());

      it('leads through the provider to a token that GraphQL accepts', async () => {
        const tab = await openTab(browser);
        await tab.goto(page);
        await tab.getByLabel('Login').fill('ada');
        await tab.getByRole('button', { name: 'Continue with provider 1' }).click();
        // The certified provider's own pages.
        await tab.locator('input[name=login]').fill('ada-at-provider');
        await tab.locator('input[name=password]').fill('any');
        await tab.locator('button[type=submit]').click();
        await tab.locator('button[type=submit]').click();
        await tab.waitForURL(`${fixture.baseUrl}/oidc?**`);
        const body: unknown = JSON.parse(await tab.locator('body').innerText());
        const result = await fixture.web.control(textAt(body, 'access_token'), '{ role { login } }');
        expect(result.data).to.deep.equal({ role: [{ login: 'ada' }] });
        const cookies = (await tab.context().cookies(fixture.baseUrl)).map(({ name }) => name);
        expect(cookies.filter((name) => name.startsWith('rowpost'))).to.deep.equal([]);
      });

      it('is operable by keyboard, with labels, and shows the problem as an alert', async () => {
        const tab = await openTab(browser);
        const complaints: string[] = [];
        collectComplaints(tab, complaints);
        await tab.goto(page);
        // Chromium moves the focus to the first field with its first frame, perhaps after the page has loaded.
        await tab.locator('#login:focus').waitFor();
        await tab.keyboard.type('ada');
        await tab.keyboard.press('Tab');
        await tab.keyboard.type('wrong');
        if (process.env['SCREENSHOT']) await tab.screenshot({ path: process.env['SCREENSHOT'] });
        expect(complaints).to.deep.equal([]);
        await tab.keyboard.press('Enter');
        expect(await tab.getByRole('alert').innerText()).to.include('wrong');
        expect(await tab.getByLabel('Login').inputValue()).to.equal('ada');
        expect(await tab.getByLabel('Password').inputValue()).to.equal('');
      });
    });
  }
});
