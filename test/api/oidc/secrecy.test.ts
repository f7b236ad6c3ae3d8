import { expect } from 'chai';
import pino from 'pino';
import { HttpBrowser } from './support/httpBrowser.js';
import { json, MisbehavingProvider } from './support/misbehavingProvider.js';
import { CLIENT, OidcFixture } from './support/oidcFixture.js';

describe('the sign-in log', () => {
  const lines: string[] = [];
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;

  before(async () => {
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    fixture = await OidcFixture.start({ log });
    provider = await MisbehavingProvider.start();
  });
  after(async () => {
    await provider.stop();
    await fixture.stop();
  });

  it('logs who signed in and what failed, without secrets, codes, tokens or identities', async () => {
    const confid = await fixture.createConfig(await fixture.createProvider(provider.endpoints));
    const roleid = await fixture.createMappedRole('somebody', confid, 'sub-of-somebody');
    const secrets: string[] = [
      CLIENT.client_secret,
      'sub-of-somebody',
      'sub-of-another',
      'told by the provider',
    ];
    for (const misbehavior of [
      { claims: { sub: 'sub-of-somebody' } },
      { claims: { sub: 'sub-of-another' } },
      { signature: 'other key' as const },
      {
        token: (res: Parameters<typeof json>[0]) =>
          json(res, 400, { error: 'invalid_grant', error_description: 'told by the provider' }),
      },
    ]) {
      provider.misbehavior = misbehavior;
      const browser = new HttpBrowser();
      const begun = await fixture.begin(browser, roleid, confid);
      const { url } = await browser.follow(begun, (next) => !next.startsWith(fixture.baseUrl));
      const { searchParams } = new URL(url);
      const body = (await (await browser.send(url)).json()) as { access_token?: string };
      secrets.push(
        searchParams.get('state')!,
        searchParams.get('code')!,
        new URL(begun).searchParams.get('nonce')!,
      );
      secrets.push(provider.lastForm.get('code_verifier')!);
      if (body.access_token !== undefined) secrets.push(body.access_token);
    }
    const text = lines.join('\n');
    expect(text).to.include('"signed in through a provider"');
    for (const code of ['OIDC_IDENTITY_MISMATCH', 'OIDC_SIGNATURE_INVALID', 'OIDC_CODE_REFUSED']) {
      expect(text).to.include(`"roleid":${roleid},"confid":${confid},"code":"${code}"`);
    }
    expect(secrets).to.have.length(21);
    for (const secret of secrets) expect(text.includes(secret), `the log holds ${secret}`).to.equal(false);
  });
});
