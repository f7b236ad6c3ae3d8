import { textAt, type AuthBody, type WebFixtureOptions } from '../../webFixture.js';
import { HttpBrowser } from './httpBrowser.js';
import { MisbehavingProvider } from './misbehavingProvider.js';
import { OidcFixture, type FailureBody } from './oidcFixture.js';

/** The identity that the provider signs everybody in as. */
export const SUB_ID = 'somebody';

/** A web process with a role that is mapped to the identity of a misbehaving provider. */
export interface MisbehavingFixture {
  readonly fixture: OidcFixture;
  readonly provider: MisbehavingProvider;
  readonly confid: number;
  readonly roleid: number;
  /** Somebody signs in through a configuration, without saying as which role. @returns the tokens, or the error */
  readonly signIn: (confid: number) => Promise<AuthBody & FailureBody>;
  readonly stop: () => Promise<void>;
}

export async function startMisbehaving(options: WebFixtureOptions = {}): Promise<MisbehavingFixture> {
  const fixture = await OidcFixture.start(options);
  const provider = await MisbehavingProvider.start();
  const confid = await fixture.createConfig(
    await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
  );
  return {
    fixture,
    provider,
    confid,
    roleid: await fixture.createMappedRole('somebody', confid, SUB_ID),
    async signIn(through) {
      const browser = new HttpBrowser();
      const response = await browser.send(`${fixture.baseUrl}/oidc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ tenantid: fixture.tenant.tenantid, confid: through }),
      });
      const url = textAt(await response.json(), 'authorization_url');
      const callback = await browser.follow(url, (next) => !next.startsWith(fixture.baseUrl));
      return (await (await browser.send(callback.url)).json()) as AuthBody & FailureBody;
    },
    async stop() {
      await provider.stop();
      await fixture.stop();
    },
  };
}
