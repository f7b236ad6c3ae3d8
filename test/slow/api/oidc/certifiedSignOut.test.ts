import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { at } from '../../../api/webFixture.js';
import {
  startCertifiedProvider,
  type CertifiedProvider,
} from '../../../api/oidc/support/certifiedProvider.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { CLIENT, OidcFixture } from '../../../api/oidc/support/oidcFixture.js';
import { waitFor } from '../../../support/waitFor.js';

const PAGE = readFileSync(new URL('../../../../docs/how-to/single-sign-on.md', import.meta.url), 'utf8');

/** Clients of the provider: with `sid` in its tokens, and with `sub` alone. */
const CLIENTS = { sid: CLIENT, sub: { client_id: 'without-sid', client_secret: 'another secret' } };

describe('sign-out with the certified provider', () => {
  let fixture: OidcFixture;
  let provider: CertifiedProvider;
  const confids = {} as Record<keyof typeof CLIENTS, number>;

  before(async () => {
    fixture = await OidcFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    const registration = {
      redirect_uris: [fixture.redirectUri],
      post_logout_redirect_uris: [`${fixture.baseUrl}/oidc/logout`],
      backchannel_logout_uri: `${fixture.baseUrl}/oidc/backchannel`,
    };
    provider = await startCertifiedProvider([
      { ...CLIENTS.sid, ...registration, backchannel_logout_session_required: true },
      { ...CLIENTS.sub, ...registration },
    ]);
    const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    confids.sid = await fixture.createConfig(providerid, CLIENTS.sid);
    confids.sub = await fixture.createConfig(providerid, CLIENTS.sub);
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  async function opens(token: string): Promise<boolean> {
    const response = await fixture.web.fetch('/query?query={__typename}', {
      headers: { authorization: `Bearer ${token}` },
    });
    return response.status === 200;
  }

  for (const kind of ['sid', 'sub'] as const) {
    it(`ends the sessions by its back channel, with ${kind}`, async () => {
      const login = `back-${kind}`;
      const roleid = await fixture.createMappedRole(login, confids[kind], login);
      const browser = new HttpBrowser();
      const callback = await fixture.logIn(
        browser,
        await fixture.begin(browser, roleid, confids[kind]),
        login,
      );
      const body = await fixture.readAuthBody(await browser.send(callback));
      const elsewhere = await fixture.web.control(
        fixture.root,
        `mutation { update_role(roleid: ${roleid}, input: {password: "a long password"}) { roleid } }`,
      );
      expect(elsewhere.errors).to.equal(undefined);
      const again = new HttpBrowser();
      const second = await fixture.logIn(again, await fixture.begin(again, roleid, confids[kind]), login);
      const tokens = await fixture.readAuthBody(await again.send(second));
      const byPassword = await fixture.web.signIn(fixture.tenant.tenantid, login, 'a long password');
      expect(await opens(body.access_token), 'of the password before').to.equal(false);
      expect(await opens(tokens.access_token)).to.equal(true);
      // The person signs out at the provider itself.
      const confirm = await again.submit(`${provider.issuer}/session/end`, { logout: 'yes' });
      await again.follow(confirm);
      await waitFor('the logout token', async () => !(await opens(tokens.access_token)));
      const refreshed = await fixture.web.fetch('/auth', {
        headers: { authorization: `Bearer ${tokens.refresh_token}` },
      });
      expect(refreshed.status).to.equal(401);
      expect(await opens(byPassword.access_token), 'which the provider knows nothing of').to.equal(true);
    });
  }

  it('signs out there from POST /oidc/logout, and comes back to return_to', async () => {
    const roleid = await fixture.createMappedRole('leaving', confids.sid, 'leaving');
    const browser = new HttpBrowser();
    const callback = await fixture.logIn(
      browser,
      await fixture.begin(browser, roleid, confids.sid),
      'leaving',
    );
    const { access_token } = await fixture.readAuthBody(await browser.send(callback));
    const [, command = ''] = /^```sh\n(curl [^`]*\/oidc\/logout [^`]*)^```$/m.exec(PAGE)!;
    const typed = command
      .replace('{BASE_URL}', fixture.baseUrl)
      .replace('https://app.example.com/bye', `${fixture.baseUrl}/query?bye`);
    const env = { ...process.env, TOKEN: access_token };
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', typed], { env });
    const body: unknown = JSON.parse(stdout);
    expect(at(body, 'ended')).to.equal(true);
    expect(await opens(access_token)).to.equal(false);
    const url = new URL(String(at(body, 'logout_url')));
    expect(url.origin + url.pathname).to.equal(`${provider.issuer}/session/end`);
    expect([...url.searchParams.keys()]).to.have.members([
      'id_token_hint',
      'client_id',
      'post_logout_redirect_uri',
      'state',
    ]);
    const confirmed = await browser.submit(url.href, { logout: 'yes' });
    const back = await browser.follow(confirmed, (next) => !next.includes('?bye'));
    expect(back.url).to.equal(`${fixture.baseUrl}/query?bye`);
    // There, the person has to log in again.
    const next = await browser.follow(
      await fixture.begin(browser, roleid, confids.sid),
      (address) => !address.startsWith(fixture.baseUrl),
    );
    expect(next.url).to.match(/\/interaction\//);
  });

  it('signs out there from the console', async () => {
    const roleid = await fixture.createMappedRole('console', confids.sid, 'console');
    const browser = new HttpBrowser();
    const origin = { origin: fixture.baseUrl, 'sec-fetch-site': 'same-origin' };
    const tenant = String(fixture.tenant.tenantid);
    const begun = await browser.send(`${fixture.baseUrl}/console/sign-in/provider`, {
      method: 'POST',
      headers: origin,
      body: new URLSearchParams({ tenant, login: 'console', confid: String(confids.sid) }),
    });
    expect(begun.status).to.equal(303);
    const callback = await fixture.logIn(browser, begun.headers.get('location')!, 'console');
    expect((await browser.send(callback)).headers.get('location')).to.match(/^\/console\//);
    const page = await browser.send(`${fixture.baseUrl}/console/policies`);
    expect(page.status).to.equal(200);
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())![1]!;
    const signedOut = await browser.send(`${fixture.baseUrl}/console/sign-out`, {
      method: 'POST',
      headers: origin,
      body: new URLSearchParams({ csrf }),
    });
    const html = await signedOut.text();
    expect(signedOut.status).to.equal(200);
    const url = signedOut.headers.get('refresh')?.replace('0; url=', '');
    expect(html).to.include(`<a href="${url?.replaceAll('&', '&amp;') ?? ''}">`);
    expect((await browser.send(`${fixture.baseUrl}/console/policies`)).status).to.equal(303);
    const confirmed = await browser.submit(url!, { logout: 'yes' });
    const back = await browser.follow(confirmed);
    expect(back.url).to.equal(`${fixture.baseUrl}/console/sign-in`);
    expect(roleid).to.be.a('number');
  });
});
