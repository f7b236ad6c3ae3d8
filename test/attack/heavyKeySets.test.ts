import { expect } from 'chai';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { json, MisbehavingProvider } from '../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../api/oidc/support/oidcFixture.js';

/** A modulus of 3,072 bits with an exponent as long takes 10 ms; 249 fit into a key set. */
describe('attack: a provider has many keys, which take long to verify with', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let other: JWK;
  before(async () => {
    [fixture, provider] = await Promise.all([OidcFixture.start(), MisbehavingProvider.start()]);
    other = await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey);
  });
  after(() => Promise.all([fixture.stop(), provider.stop()]));

  it('of which ten are tried for a token without a key id', async () => {
    for (const [others, status] of [
      [9, 200],
      [10, 401],
    ] as const) {
      const keys = [...Array<JWK>(others).fill(other), await provider.publicJwk()];
      provider.misbehavior = { signature: 'without kid', jwks: (res) => json(res, 200, { keys }) };
      const jwks_uri = `${provider.endpoints.jwks_uri}?others=${others}`;
      const { issuer, endpoints } = provider;
      const confid = await fixture.createConfig(
        await fixture.createProvider({ ...endpoints, issuer, jwks_uri }),
      );
      const roleid = await fixture.createMappedRole(`role ${confid}`, confid, 'somebody');
      expect((await fixture.signIn(roleid, confid)).status, `after ${others} others`).to.equal(status);
    }
  });
});
