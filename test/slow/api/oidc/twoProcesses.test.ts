import { expect } from 'chai';
import { findFreePort } from '../../../../src/embedded/freePort.js';
import { startProcess, type RowpostProcess } from '../../../support/rowpostProcess.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { MisbehavingProvider } from '../../../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../../../api/oidc/support/oidcFixture.js';

describe('sign-in across two web processes', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let other: RowpostProcess;
  let otherUrl: string;

  before(async () => {
    fixture = await OidcFixture.start();
    provider = await MisbehavingProvider.start();
    const port = await findFreePort();
    otherUrl = `http://localhost:${port}`;
    other = await startProcess(['web'], {
      DATABASE_URL: fixture.web.testDatabase.url,
      PORT: String(port),
      // Both are behind the one address that the provider knows.
      BASE_URL: fixture.baseUrl,
    });
  });
  after(async () => {
    await other.kill('SIGTERM');
    await provider.stop();
    await fixture.stop();
  });

  it('completes a sign-in on either process, once', async () => {
    const confid = await fixture.createConfig(await fixture.createProvider(provider.endpoints));
    const roleid = await fixture.createMappedRole('somebody', confid, 'somebody');
    const begun = await fetch(fixture.redirectUri, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tenantid: fixture.tenant.tenantid, roleid, confid }),
      redirect: 'manual',
    });
    const cookie = begun.headers.getSetCookie()[0]!.split(';')[0]!;
    const { url } = await new HttpBrowser().follow(
      begun.headers.get('location')!,
      (next) => !next.startsWith(fixture.baseUrl),
    );
    const elsewhere = url.replace(fixture.baseUrl, otherUrl);
    const body = await fixture.readAuthBody(await fetch(elsewhere, { headers: { cookie } }));
    expect(body.roleid).to.equal(roleid);
    // The state is spent on both.
    expect((await fetch(url, { headers: { cookie } })).status).to.equal(400);
    // And the token is good on both.
    const { data } = await fixture.web.control(body.access_token, '{ role { roleid } }');
    expect(data).to.deep.equal({ role: [{ roleid: String(roleid) }] });
  });
});
