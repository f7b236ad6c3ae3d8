import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { PXADMIN_PASSWORD, ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from './webFixture.js';

const COOKIE = 'rowpost_console';
const CLERK_PASSWORD = 'secret of the clerk';

describe('sessions of the console', () => {
  let fixture: WebFixture;
  let shop: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    shop = await fixture.createTenant('The Shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(shop.tenantid)).access_token;
    for (const login of ['clerk', 'changing', 'leaving', 'losing']) {
      const input = { login, password: CLERK_PASSWORD, capabilities: ['login', 'select'] };
      await fixture.control(root, 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
        input,
      });
    }
  });
  after(() => fixture.stop());

  async function signedIn(login = ROOT_LOGIN, password = ROOT_PASSWORD): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser(fixture);
    const response = await browser.signIn('The Shop', login, password);
    expect(response.status).to.equal(303);
    return browser;
  }

  it('ask for the tenant, then for the login, and redirect to the requested page', async () => {
    const browser = new ConsoleBrowser(fixture);
    const wanted = '/console/deliveries?state=failed&within=all';
    const refused = await browser.get(wanted);
    expect(refused.status).to.equal(303);
    const signInPage = refused.headers.get('location') ?? '';
    expect(signInPage).to.equal(`/console/sign-in?next=${encodeURIComponent(wanted)}`);
    const first = await browser.page(signInPage);
    expect(first).to.include('Name or number of the tenant.').and.not.include('type="password"');
    const second = await browser.page(`${signInPage}&tenant=The+Shop`);
    expect(second).to.include('<strong>The Shop</strong>').and.include('type="password"');
    const done = await browser.signIn('The Shop', ROOT_LOGIN, ROOT_PASSWORD, wanted);
    expect([done.status, done.headers.get('location')]).to.deep.equal([303, wanted]);
    expect(await browser.page(wanted)).to.include(`of The Shop (tenant ${shop.tenantid})`);
  });

  it("accept the tenant's number too, and remember the tenant", async () => {
    const browser = new ConsoleBrowser(fixture);
    const done = await browser.signIn(String(shop.tenantid), ROOT_LOGIN, ROOT_PASSWORD);
    expect(done.headers.get('location')).to.equal('/console/');
    browser.cookies.delete(COOKIE);
    expect(await browser.page('/console/sign-in')).to.include(`<strong>${shop.tenantid}</strong>`);
  });

  it('are a cookie that is hidden from scripts and other sites and holds no token', async () => {
    const response = await new ConsoleBrowser(fixture).signIn('The Shop', ROOT_LOGIN, ROOT_PASSWORD);
    const cookie = response.headers.getSetCookie().find((line) => line.startsWith(`${COOKIE}=`)) ?? '';
    expect(cookie)
      .to.match(/; HttpOnly/)
      .and.match(/; SameSite=Lax/)
      .and.match(/; Path=\//);
    expect(cookie).not.to.match(/eyJ[\w-]+\.|Secure|Domain/);
    const value = cookie.slice(COOKIE.length + 1, cookie.indexOf(';'));
    const asToken = await fixture.fetch('/auth', { headers: { authorization: `Bearer ${value}` } });
    expect(asToken.status).to.equal(422);
  });

  it('are Secure and isolated from sibling domains where BASE_URL is https', async () => {
    const other = await WebFixture.start({ env: { BASE_URL: 'https://mail.example.com' } });
    const { tenantid } = await other.createTenant('safe');
    const browser = new ConsoleBrowser(other);
    const response = await browser.post(
      '/console/sign-in',
      { tenant: String(tenantid), login: ROOT_LOGIN, password: ROOT_PASSWORD },
      { origin: 'https://mail.example.com' },
    );
    const cookie = response.headers.getSetCookie().find((line) => line.includes(COOKIE));
    expect(cookie)
      .to.match(/^__Host-rowpost_console=/)
      .and.match(/; Secure/);
    await other.stop();
  });

  it('redirect only to pages of the console', async () => {
    for (const next of [
      'https://evil.example/console/',
      '//evil.example/console/x',
      '/\\evil.example/console/x',
      '/query',
      '/console/../query',
      '/console/sign-in',
      'javascript:alert(1)',
    ]) {
      const browser = new ConsoleBrowser(fixture);
      const done = await browser.signIn('The Shop', ROOT_LOGIN, ROOT_PASSWORD, next);
      expect(done.headers.get('location'), next).to.equal('/console/');
    }
  });

  it('responds to an unknown tenant, an unknown login and a wrong password identically', async () => {
    const pages = await Promise.all(
      [
        ['No Such Shop', ROOT_LOGIN],
        ['The Shop', 'nobody else'],
        ['The Shop', ROOT_LOGIN],
      ].map(async ([tenant = '', login = '']) => {
        const response = await new ConsoleBrowser(fixture).signIn(tenant, login, 'wrong');
        const html = await response.text();
        return `${response.status} ${html.replaceAll(tenant, 'TENANT').replaceAll(login, 'LOGIN')}`;
      }),
    );
    expect(new Set(pages).size).to.equal(1);
    expect(pages[0]).to.match(/^401 /).and.include('The tenant, login or password is wrong.');
  });

  it('obey the sign-in limits', async () => {
    const limited = await WebFixture.start({ env: { SIGN_IN_FAILURES_PER_LOGIN: '2' } });
    await limited.createTenant('limited');
    const browser = new ConsoleBrowser(limited);
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await browser.signIn('limited', ROOT_LOGIN, 'wrong')).status);
    expect(statuses).to.deep.equal([401, 401, 429]);
    const page = await browser.signIn('limited', ROOT_LOGIN, ROOT_PASSWORD);
    expect(page.headers.get('retry-after')).to.match(/^\d+$/);
    expect(await page.text()).to.include('Too many attempts to sign in.');
    await limited.stop();
  });

  it('end when the password changes, the role is deleted or may no longer sign in, and on sign-out', async () => {
    const [changing, leaving, losing] = await Promise.all([
      signedIn('changing', CLERK_PASSWORD),
      signedIn('leaving', CLERK_PASSWORD),
      signedIn('losing', CLERK_PASSWORD),
    ]);
    const idOf = async (login: string): Promise<string> => {
      const found = await fixture.control(root, `{ role(filter: "login = '${login}'") { roleid } }`);
      return (found.data?.['role'] as { roleid: string }[])[0]!.roleid;
    };
    expect((await changing.get('/console/deliveries')).status).to.equal(403);
    await fixture.control(
      root,
      `mutation { update_role(roleid: ${await idOf('changing')}, input: { password: "another secret of it" }) { roleid } }`,
    );
    await fixture.control(root, `mutation { delete_role(roleid: ${await idOf('leaving')}) { roleid } }`);
    await fixture.control(
      root,
      `mutation { update_role(roleid: ${await idOf('losing')}, input: { capabilities: ["select"] }) { roleid } }`,
    );
    for (const browser of [changing, leaving, losing]) {
      const after = await browser.get('/console/deliveries');
      expect(after.headers.get('location')).to.match(/^\/console\/sign-in/);
    }
    const browser = await signedIn();
    const out = await browser.post('/console/sign-out', { csrf: await browser.csrf('/console/deliveries') });
    expect([out.status, browser.cookies.has(COOKIE)]).to.deep.equal([303, false]);
    expect((await browser.get('/console/deliveries')).status).to.equal(303);
  });

  it('reject forged cookies, and those sealed for another purpose with the same keys', async () => {
    const browser = new ConsoleBrowser(fixture);
    const { access_token, refresh_token } = await fixture.signIn(shop.tenantid);
    for (const value of ['x', refresh_token, access_token, Buffer.alloc(64).toString('base64url')]) {
      browser.cookies.set(COOKIE, value);
      expect((await browser.get('/console/deliveries')).status, value.slice(0, 8)).to.equal(303);
    }
  });

  it('start afresh with each sign-in, whatever cookie the browser sent', async () => {
    const browser = await signedIn('clerk', CLERK_PASSWORD);
    const planted = browser.cookies.get(COOKIE);
    await browser.signIn('The Shop', ROOT_LOGIN, ROOT_PASSWORD);
    expect(browser.cookies.get(COOKIE)).not.to.equal(planted);
    expect(await browser.page('/console/deliveries')).to.match(/root<\/a>\s+<span class="quiet">of The Shop/);
  });

  it("reject forms from other sites and forms without the session's token", async () => {
    const browser = await signedIn();
    const csrf = await browser.csrf('/console/deliveries');
    const other = await (await signedIn()).csrf('/console/deliveries');
    for (const [values, headers] of [
      [{}, {}],
      [{ csrf: '' }, {}],
      [{ csrf: other }, {}],
      [{ csrf }, { 'sec-fetch-site': 'cross-site' }],
      [{ csrf }, { 'sec-fetch-site': 'same-site' }],
      [{ csrf }, { origin: 'https://evil.example' }],
      [{ csrf }, { origin: 'null' }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const response = await browser.post('/console/sign-out', values, headers);
      expect(response.status, JSON.stringify([Object.keys(values), headers])).to.equal(403);
      expect(browser.cookies.has(COOKIE)).to.equal(true);
    }
    const foreign = await new ConsoleBrowser(fixture).post(
      '/console/sign-in',
      { tenant: 'The Shop', login: ROOT_LOGIN, password: ROOT_PASSWORD },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    );
    expect([foreign.status, foreign.headers.getSetCookie()]).to.deep.equal([403, []]);
  });

  it('show refusals as pages with what to do', async () => {
    const clerk = await signedIn('clerk', CLERK_PASSWORD);
    const response = await clerk.get('/console/deliveries');
    const html = await response.text();
    expect([response.status, html.includes('role="alert"')]).to.deep.equal([403, true]);
    expect(html).to.include('view_delivery').and.include('Sign out');
    const admin = new ConsoleBrowser(fixture);
    await admin.signIn('0', 'pxadmin', PXADMIN_PASSWORD);
    const installation = await admin.get('/console/deliveries');
    expect([installation.status, await installation.text()].join(' '))
      .to.include('403')
      .and.include('sends no email');
    const missing = await (await signedIn()).get('/console/no/such/page');
    expect(missing.status).to.equal(404);
    expect(missing.headers.get('content-type')).to.match(/html/);
  });

  it('are sent with headers against caching, framing and injection', async () => {
    const browser = await signedIn();
    for (const path of [
      '/console/sign-in?failed=x',
      '/console/deliveries',
      '/console/failures',
      '/console/nothing',
    ]) {
      const response = await browser.get(path);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy, path)
        .to.include("default-src 'none'")
        .and.include("frame-ancestors 'none'")
        .and.not.match(/unsafe|script-src (?!'nonce-[\w-]{22}';)/);
      expect(response.headers.get('cache-control'), path).to.equal('no-store');
      expect(response.headers.get('x-frame-options'), path).to.equal('DENY');
      expect(response.headers.get('referrer-policy'), path).to.equal('same-origin');
      expect(await response.text(), path).not.to.match(
        /<script(?! type="module" nonce="[\w-]{22}" src="\/assets\/console\/\w+\.js"><\/script>)|<style|style=| on\w+=/i,
      );
    }
  });

  it('escape echoed input', async () => {
    const evil = '"><script>alert(1)</script>\'{{ 7 | times: 7 }}';
    const given = new URLSearchParams({ tenant: evil, next: evil, failed: evil, login: evil }).toString();
    const browser = new ConsoleBrowser(fixture);
    expect(await (await browser.get(`/console/sign-in?${given}`)).text())
      .to.include('&lt;script&gt;')
      .and.not.include('<script');
    const refused = await browser.signIn(evil, evil, 'wrong', evil);
    expect(await refused.text())
      .to.include('&lt;script&gt;')
      .and.not.include('<script');
    browser.cookies.set('rowpost_tenant', '%E0%A4%A"<script>');
    expect(await browser.page('/console/sign-in')).not.to.include('<script');
  });

  it('never print a value unescaped', () => {
    const folders = ['console/views/', 'pages/views/'].map(
      (folder) => new URL(`../../src/api/${folder}`, import.meta.url),
    );
    const files = folders.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder)));
    for (const file of files) {
      const [name, text] = [file.pathname, readFileSync(file, 'utf8')];
      expect(text, name).not.to.match(
        /\|\s*(raw|safe|unescape)|{%-?\s*(raw|render(?! '[a-z-]+',)|include|liquid)/,
      );
      // Only within double quotes does escaping keep a value in its attribute.
      expect(text, name).not.to.match(/\s[\w-]+=\s*{{|\s[\w-]+='[^'\n]*{{/);
    }
  });
});
