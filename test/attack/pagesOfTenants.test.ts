import { expect } from 'chai';
import { tenantOrigins } from '../../src/config/settingValues.js';
import { MisbehavingProvider } from '../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../api/oidc/support/oidcFixture.js';
import { ROOT_LOGIN, ROOT_PASSWORD } from '../api/webFixture.js';

const OURS = 'https://ours.example.com';
const THEIRS = 'https://theirs.example.com';
const OPERATOR = 'https://operator.example.com';
/** Of no tenant of the test. */
const OTHER_TENANTID = 9_999;

/**
 * A tenant whose page may get tokens opens it in the browser of somebody who is signed in at another tenant's provider, or has the
 * sign-in page of the service begin with itself as the address to return to.
 */
describe("attack: another tenant's tokens, by a page that may get those of its own", () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let confid: number;
  let roleid: number;
  before(async () => {
    provider = await MisbehavingProvider.start();
    // Whatever id the tenant gets.
    const ours = Array.from({ length: 20 }, (_, index) => `${index + 1}=${OURS}`);
    const origins = [OPERATOR, ...ours, `${OTHER_TENANTID}=${THEIRS}`];
    fixture = await OidcFixture.start({ env: { OIDC_RETURN_ORIGINS: origins.join(), CORS_ORIGINS: THEIRS } });
    const providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    confid = await fixture.createConfig(providerid);
    roleid = await fixture.createMappedRole('ada', confid, 'somebody');
  });
  after(async () => {
    await fixture.stop();
    await provider.stop();
  });

  const begin = (
    path: string,
    values: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> =>
    fixture.web.fetch(path, {
      method: 'POST',
      headers,
      body: new URLSearchParams({
        tenantid: String(fixture.tenant.tenantid),
        roleid: String(roleid),
        confid: String(confid),
        login: path === '/signin' ? ROOT_LOGIN : 'ada',
        password: ROOT_PASSWORD,
        ...values,
      }),
      redirect: 'manual',
    });

  for (const path of ['/oidc', '/signin', '/signin/oidc']) {
    it(`is not where ${path} returns to`, async () => {
      const refused = await begin(path, { return_to: `${THEIRS}/steal` });
      expect(refused.status).to.equal(400);
      expect(refused.headers.get('location')).to.equal(null);
      for (const origin of [OURS, OPERATOR])
        expect((await begin(path, { return_to: `${origin}/` })).status, origin).to.equal(303);
    });

    it(`does not begin it with ${path}`, async () => {
      const refused = await begin(
        path,
        { return_to: `${OURS}/` },
        { origin: THEIRS, 'sec-fetch-site': 'cross-site' },
      );
      expect(refused.status).to.equal(403);
      expect(refused.headers.getSetCookie()).to.deep.equal([]);
      for (const origin of [OURS, OPERATOR])
        expect((await begin(path, { return_to: `${OURS}/` }, { origin })).status, origin).to.equal(303);
    });
  }

  it('is named with its tenant, or for all', () => {
    expect(tenantOrigins(`${OPERATOR}/, 12 = ${THEIRS},012=${THEIRS}`)).to.deep.equal([
      { origin: OPERATOR },
      { origin: THEIRS, tenantid: 12 },
    ]);
    for (const wrong of [
      '12',
      '12=',
      'shop=https://a.example',
      '-1=https://a.example',
      '12=https://a.example/x',
    ])
      expect(() => tenantOrigins(wrong), wrong).to.throw('is not a list of origins');
  });
});
