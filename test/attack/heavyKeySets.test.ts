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

  it('of which ten are tried where the token, or the keys, have no key id', async () => {
    for (const [others, signature, status] of [
      [9, 'without kid', 200],
      [10, 'without kid', 401],
      [9, 'right', 200],
      [10, 'right', 401],
    ] as const) {
      const right = { ...(await provider.publicJwk()), kid: undefined };
      const keys = [...Array<JWK>(others).fill(other), right];
      provider.misbehavior = { signature, jwks: (res) => json(res, 200, { keys }) };
      const jwks_uri = `${provider.endpoints.jwks_uri}?${encodeURIComponent(signature)}=${others}`;
      const { issuer, endpoints } = provider;
      const confid = await fixture.createConfig(
        await fixture.createProvider({ ...endpoints, issuer, jwks_uri }),
      );
      const roleid = await fixture.createMappedRole(`role ${confid}`, confid, 'somebody');
      expect((await fixture.signIn(roleid, confid)).status, `after ${others} others`).to.equal(status);
    }
  });
});
