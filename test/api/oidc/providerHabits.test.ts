import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import type { JWK, JWTPayload } from 'jose';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { json, type MisbehavingProvider } from './support/misbehavingProvider.js';
import { CLIENT, type FailureBody, type OidcFixture } from './support/oidcFixture.js';

/** An RSA key that jose does not verify with. */
const shortKey = (): JWK =>
  generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });

describe('sign-in through providers with habits of their own', () => {
  let misbehaving: MisbehavingFixture;
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let confid: number;
  let roleid: number;

  before(async () => {
    misbehaving = await startMisbehaving();
    ({ fixture, provider, confid, roleid } = misbehaving);
  });
  beforeEach(() => {
    provider.misbehaviour = {};
  });
  after(() => misbehaving.stop());

  const signIn = async (): Promise<Response> => fixture.signIn(roleid, confid);
  const failure = async (): Promise<FailureBody> => (await (await signIn()).json()) as FailureBody;

  for (const alg of ['PS256', 'ES256', 'ES384', 'EdDSA']) {
    it(`accepts ${alg}, whether or not the key set names it`, async () => {
      await provider.rotateKeys(undefined, alg);
      await fixture.readAuthBody(await signIn());
      await provider.rotateKeys(undefined, alg);
      const bare = { ...(await provider.publicJwk()), alg: undefined, kid: undefined };
      provider.misbehaviour = { jwks: (res) => json(res, 200, { keys: [bare] }), signature: 'without kid' };
      await fixture.readAuthBody(await signIn());
    });
  }

  const ACCEPTED: readonly [string, JWTPayload][] = [
    ['several audiences, with this client as azp', { aud: ['api', CLIENT.client_id], azp: CLIENT.client_id }],
    ['an audience as a list', { aud: [CLIENT.client_id] }],
    ['a clock that is half a minute ahead', { nbf: Math.floor(Date.now() / 1000) + 30 }],
    ['groups by the thousand', { groups: Array.from({ length: 4_000 }, (_, index) => `group-${index}`) }],
    ['overage instead of groups', { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }],
    ['names outside ASCII', { name: 'Zoë 名前 🦉' }],
  ];
  for (const [what, claims] of ACCEPTED) {
    it(`accepts ${what}`, async () => {
      provider.misbehaviour = { claims };
      await fixture.readAuthBody(await signIn());
    });
  }

  it('needs nothing besides the ID token, as Azure AD B2C sends no access token for the scope openid', async () => {
    for (const besides of [
      { token_type: 'Bearer', scope: '' },
      { access_token: 'a', expires_in: '' },
    ]) {
      provider.misbehaviour = { besides };
      await fixture.readAuthBody(await signIn());
    }
  });

  it('takes an address for verified by the value true only', async () => {
    const byEmail = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, comparison_field: 'email' }),
    );
    await fixture.map(roleid, byEmail, 'zoë@example.com');
    const email = 'zoë@example.com';
    provider.misbehaviour = { claims: { email, email_verified: true } };
    await fixture.readAuthBody(await fixture.signIn(roleid, byEmail));
    provider.misbehaviour = { claims: { email, email_verified: 'true' } };
    expect((await fixture.signIn(roleid, byEmail)).status).to.equal(403);
  });

  it('retries with client_secret_post after a 401 with another code than invalid_client', async () => {
    let requests = 0;
    const refusing = (error: string): void => {
      provider.misbehaviour = {
        token: (res) => {
          requests += 1;
          json(res, 401, { error, error_description: 'Unauthorized' });
        },
      };
    };
    for (const error of ['access_denied', 'unauthorized_client']) {
      requests = 0;
      refusing(error);
      const { code, error: message } = await failure();
      expect(code).to.equal('OIDC_CLIENT_REFUSED');
      expect(message).to.include(`(${error})`);
      expect(requests).to.equal(2);
      expect(provider.lastForm.get('client_secret')).to.equal(CLIENT.client_secret);
    }
    requests = 0;
    refusing('invalid_grant');
    expect((await failure()).code).to.equal('OIDC_CODE_REFUSED');
    expect(requests).to.equal(1);
  });

  it('reports encrypted ID tokens as such', async () => {
    provider.misbehaviour = { idToken: 'e30.a.b.c.d' };
    const { code, error } = await failure();
    expect(code).to.equal('OIDC_ID_TOKEN_INVALID');
    expect(error).to.include('encrypted');
  });

  describe('a signing key that is too short or incomplete', () => {
    for (const [what, broken] of [
      ['too short', shortKey],
      ['incomplete', (): JWK => ({ kty: 'RSA', e: 'AQAB' })],
    ] as const) {
      it(`is reported if it is the only one (${what}), and read again`, async () => {
        await provider.rotateKeys();
        const { kid } = await provider.publicJwk();
        provider.misbehaviour = { jwks: (res) => json(res, 200, { keys: [{ ...broken(), kid }] }) };
        expect(await failure()).to.include({ code: 'OIDC_SIGNATURE_INVALID', status: 401 });
        provider.misbehaviour = {};
        await fixture.readAuthBody(await signIn());
      });
    }

    it('does not get in the way of the others', async () => {
      await provider.rotateKeys();
      const right = { ...(await provider.publicJwk()), kid: undefined };
      provider.misbehaviour = {
        signature: 'without kid',
        jwks: (res) => json(res, 200, { keys: [shortKey(), right] }),
      };
      await fixture.readAuthBody(await signIn());
    });
  });
});
