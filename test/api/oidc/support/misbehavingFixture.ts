import type { WebFixtureOptions } from '../../webFixture.js';
import { MisbehavingProvider } from './misbehavingProvider.js';
import { OidcFixture } from './oidcFixture.js';

/** The identity that the provider signs everybody in as. */
export const SUB_ID = 'somebody';

/** A web process with a role that is mapped to the identity of a misbehaving provider. */
export interface MisbehavingFixture {
  readonly fixture: OidcFixture;
  readonly provider: MisbehavingProvider;
  readonly confid: number;
  readonly roleid: number;
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
    async stop() {
      await provider.stop();
      await fixture.stop();
    },
  };
}
