import { expect } from 'chai';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { startMisbehaving } from './support/misbehavingFixture.js';

describe('an odd spelling of BASE_URL', () => {
  it('signs in where browsers, cookies and the provider have the plain one', async () => {
    const port = await findFreePort();
    const misbehaving = await startMisbehaving({
      env: { PORT: String(port), BASE_URL: ` HTTP://LOCALHOST:${port}// ` },
    });
    const { fixture, confid, roleid, provider } = misbehaving;
    try {
      const origin = `http://localhost:${port}`;
      expect(fixture.baseUrl).to.equal(origin);
      const { status, url } = await fixture.signIn(roleid, confid, { return_to: `${origin}/app` });
      expect(status).to.equal(303);
      expect(url).to.match(/^http:\/\/localhost/);
      expect(provider.lastForm.get('redirect_uri')).to.equal(`${origin}/oidc`);
    } finally {
      await misbehaving.stop();
    }
  });

  it('is https for cookies, HSTS and what is sent to the provider', async () => {
    const misbehaving = await startMisbehaving({
      env: { BASE_URL: 'HTTPS://Rowpost.Example:443/' },
    });
    const { fixture, confid, roleid } = misbehaving;
    try {
      const { web, tenant } = fixture;
      const begun = await web.postJson(
        '/oidc',
        { tenantid: tenant.tenantid, roleid, confid },
        { accept: 'application/json' },
      );
      const { authorization_url } = (await begun.json()) as { authorization_url: string };
      const { searchParams } = new URL(authorization_url);
      expect(searchParams.get('redirect_uri')).to.equal('https://rowpost.example/oidc');
      expect(begun.headers.get('set-cookie')).to.match(/^__Host-rowpost_oidc_.*; Secure/);
      expect(begun.headers.get('strict-transport-security')).to.include('max-age=');
    } finally {
      await misbehaving.stop();
    }
  });
});
