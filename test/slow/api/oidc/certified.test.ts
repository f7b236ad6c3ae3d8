import { expect } from 'chai';
import { at } from '../../../api/webFixture.js';
import {
  startCertifiedProvider,
  type CertifiedProvider,
} from '../../../api/oidc/support/certifiedProvider.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { CLIENT, OidcFixture, type FailureBody } from '../../../api/oidc/support/oidcFixture.js';

const POST_CLIENT = { client_id: 'rowpost-post', client_secret: 'another secret' };

describe('sign-in through the certified provider', () => {
  let fixture: OidcFixture;
  let provider: CertifiedProvider;

  before(async () => {
    fixture = await OidcFixture.start();
    const redirect_uris = [fixture.redirectUri];
    provider = await startCertifiedProvider([
      { ...CLIENT, redirect_uris, token_endpoint_auth_method: 'client_secret_basic' },
      { ...POST_CLIENT, redirect_uris, token_endpoint_auth_method: 'client_secret_post' },
      { client_id: 'elsewhere', client_secret: 'x', redirect_uris: ['http://localhost:1/oidc'] },
    ]);
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  const withIssuer = (comparison_field = 'sub'): Promise<number> =>
    fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer, comparison_field });

  async function signInAs(login: string, roleid: number, confid: number): Promise<Response> {
    const browser = new HttpBrowser();
    const callback = await fixture.logIn(browser, await fixture.begin(browser, roleid, confid), login);
    return browser.send(callback);
  }

  it('returns a token that GraphQL accepts', async () => {
    const confid = await fixture.createConfig(await withIssuer());
    const roleid = await fixture.createMappedRole('ada', confid, 'ada');
    const body = await fixture.readAuthBody(await signInAs('ada', roleid, confid));
    expect(body).to.include({ roleid, tenantid: fixture.tenant.tenantid, message: 'Logged in as ada.' });
    expect(at(body, 'routes.query')).to.equal(`${fixture.baseUrl}/query`);
    const { data } = await fixture.web.control(body.access_token, '{ role { roleid } }');
    expect(data).to.deep.equal({ role: [{ roleid: String(roleid) }] });
    const refreshed = await fixture.web.fetch('/auth', {
      headers: { authorization: `Bearer ${body.refresh_token}` },
    });
    expect(refreshed.status).to.equal(200);
  });

  it('rejects another identity without revealing either', async () => {
    const confid = await fixture.createConfig(await withIssuer());
    const roleid = await fixture.createMappedRole('grace', confid, 'grace-hopper');
    const response = await signInAs('mallory', roleid, confid);
    const text = await response.text();
    expect((JSON.parse(text) as FailureBody).code).to.equal('OIDC_IDENTITY_MISMATCH');
    expect(response.status).to.equal(403);
    expect(text).not.to.match(/mallory|grace-hopper/);
  });

  it('matches by oid or email as configured for the provider; one role signs in with both', async () => {
    const byOid = await fixture.createConfig(await withIssuer('oid'));
    const byEmail = await fixture.createConfig(await withIssuer('email'));
    const roleid = await fixture.createMappedRole('both', byOid, 'oid-of-turing');
    await fixture.map(roleid, byEmail, 'turing@example.com');
    for (const confid of [byOid, byEmail]) {
      const body = await fixture.readAuthBody(await signInAs('turing', roleid, confid));
      expect(body.roleid).to.equal(roleid);
    }
  });

  it('works without an issuer, and with client_secret_post', async () => {
    const providerid = await fixture.createProvider(provider.endpoints);
    const confid = await fixture.createConfig(providerid, POST_CLIENT);
    const roleid = await fixture.createMappedRole('post', confid, 'lin');
    const body = await fixture.readAuthBody(await signInAs('lin', roleid, confid));
    expect(body.roleid).to.equal(roleid);
  });

  it('survives a key rotation between two sign-ins', async () => {
    const confid = await fixture.createConfig(await withIssuer());
    const roleid = await fixture.createMappedRole('rotated', confid, 'rot');
    await fixture.readAuthBody(await signInAs('rot', roleid, confid));
    await provider.rotateKeys();
    await fixture.readAuthBody(await signInAs('rot', roleid, confid));
  });

  it('reports a wrong client secret', async () => {
    const confid = await fixture.createConfig(await withIssuer(), { ...CLIENT, client_secret: 'mistyped' });
    const roleid = await fixture.createMappedRole('mistyped', confid, 'x');
    const response = await signInAs('x', roleid, confid);
    expect(response.status).to.equal(502);
    const text = await response.text();
    expect((JSON.parse(text) as FailureBody).code).to.equal('OIDC_CLIENT_REFUSED');
    expect(text).not.to.include('mistyped');
  });

  it('reports that the user canceled', async () => {
    const confid = await fixture.createConfig(await withIssuer());
    const roleid = await fixture.createMappedRole('cancel', confid, 'x');
    const browser = new HttpBrowser();
    const page = await browser.follow(await fixture.begin(browser, roleid, confid));
    const { url } = await browser.follow(`${page.url}/abort`, (next) => !next.startsWith(fixture.baseUrl));
    const response = await browser.send(url);
    expect(response.status).to.equal(403);
    expect(((await response.json()) as FailureBody).code).to.equal('OIDC_LOGIN_REFUSED');
  });

  it('stops at the provider when another redirect URI is registered', async () => {
    const confid = await fixture.createConfig(await withIssuer(), {
      client_id: 'elsewhere',
      client_secret: 'x',
    });
    const roleid = await fixture.createMappedRole('elsewhere', confid, 'x');
    const browser = new HttpBrowser();
    const { url, response } = await browser.follow(await fixture.begin(browser, roleid, confid));
    expect(url.startsWith(provider.issuer)).to.equal(true);
    expect(response.status).to.equal(400);
    expect(await response.text()).to.include('redirect_uri');
  });
});
