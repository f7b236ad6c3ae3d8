import { generateKeyPairSync, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { JWK, JWTPayload } from 'jose';
import { startMisbehaving, SUB_ID, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { json, type MisbehavingProvider } from './support/misbehavingProvider.js';
import { knexOf } from '../../support/knexOf.js';
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
    provider.misbehavior = {};
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
      provider.misbehavior = { jwks: (res) => json(res, 200, { keys: [bare] }), signature: 'without kid' };
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
      provider.misbehavior = { claims };
      await fixture.readAuthBody(await signIn());
    });
  }

  it('needs nothing besides the ID token, as Azure AD B2C sends no access token for the scope openid', async () => {
    for (const besides of [
      { token_type: 'Bearer', scope: '' },
      { access_token: 'a', expires_in: '' },
    ]) {
      provider.misbehavior = { besides };
      await fixture.readAuthBody(await signIn());
    }
  });

  it('signs in where JSON has a byte order mark and another content type', async () => {
    const { issuer, endpoints } = provider;
    const fresh = await fixture.createConfig(
      await fixture.createProvider({ ...endpoints, jwks_uri: `${issuer}/jwks?marked` }),
    );
    await fixture.map(roleid, fresh, SUB_ID);
    const discovery = { '': { issuer, jwks_uri: `${issuer}/jwks?marked` } };
    const marked = (res: ServerResponse, status: number, body: unknown): void => {
      res.writeHead(status, { 'content-type': 'text/plain' }).end(`\ufeff${JSON.stringify(body)}`);
    };
    provider.misbehavior = { json: marked, discovery };
    await fixture.readAuthBody(await fixture.signIn(roleid, fresh));
    provider.misbehavior = { json: marked, discovery, claims: { iss: `${issuer}/another` } };
    expect((await fixture.signIn(roleid, fresh)).status).to.equal(401);
  });

  it('is asked for uncompressed responses, by name', async () => {
    await fixture.readAuthBody(await signIn());
    expect(provider.lastHeaders).to.include({ 'accept-encoding': 'identity', 'user-agent': 'rowpost' });
  });

  it('finds an issuer on the host of its keys, as at Cognito', async () => {
    const { issuer, endpoints } = provider;
    const auth_uri = endpoints.auth_uri.replace('127.0.0.1', 'localhost');
    const apart = await fixture.createConfig(await fixture.createProvider({ ...endpoints, auth_uri }));
    await fixture.map(roleid, apart, SUB_ID);
    const told = (await (await fixture.signIn(roleid, apart)).json()) as FailureBody;
    expect(told).to.include({ code: 'OIDC_ID_TOKEN_INVALID' });
    expect(told.error).to.include('set issuer to the iss of its ID tokens');
    const fixed = await fixture.createConfig(await fixture.createProvider({ ...endpoints, auth_uri }));
    await fixture.map(roleid, fixed, SUB_ID);
    provider.misbehavior = { discovery: { '': { issuer, jwks_uri: endpoints.jwks_uri } } };
    await fixture.readAuthBody(await fixture.signIn(roleid, fixed));
  });

  it('takes an address for verified by the value true only', async () => {
    const byEmail = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, comparison_field: 'email' }),
    );
    await fixture.map(roleid, byEmail, 'zoë@example.com');
    const email = 'zoë@example.com';
    provider.misbehavior = { claims: { email, email_verified: true } };
    await fixture.readAuthBody(await fixture.signIn(roleid, byEmail));
    provider.misbehavior = { claims: { email, email_verified: 'true' } };
    expect((await fixture.signIn(roleid, byEmail)).status).to.equal(403);
  });

  it('retries with client_secret_post after a 401 with another code than invalid_client', async () => {
    let requests = 0;
    const refusing = (error: string): void => {
      provider.misbehavior = {
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

  const BASIC_REFUSED: readonly [string, (res: ServerResponse) => void][] = [
    ['401 and nothing', (res) => res.writeHead(401).end()],
    ['401 and HTML', (res) => res.writeHead(401, { 'content-type': 'text/html' }).end('<h1>401</h1>')],
    ['invalid_request', (res) => json(res, 400, { error: 'invalid_request' })],
    ['400 and unauthorized_client', (res) => json(res, 400, { error: 'unauthorized_client' })],
    ['403 and unauthorized_client', (res) => json(res, 403, { error: 'unauthorized_client' })],
    ['403 and HTML', (res) => res.writeHead(403, { 'content-type': 'text/html' }).end('<h1>403</h1>')],
  ];
  for (const [what, basic] of BASIC_REFUSED) {
    it(`signs in with client_secret_post where HTTP Basic is answered with ${what}`, async () => {
      provider.misbehavior = { basic };
      await fixture.readAuthBody(await signIn());
    });
  }

  it('finds the key that signed, where only the ID token has a key id', async () => {
    await provider.rotateKeys();
    const nameless = { ...(await provider.publicJwk()), kid: undefined };
    provider.misbehavior = { jwks: (res) => json(res, 200, { keys: [nameless] }) };
    await fixture.readAuthBody(await signIn());
    provider.misbehavior = { ...provider.misbehavior, signature: 'other key' };
    expect((await failure()).code).to.equal('OIDC_SIGNATURE_INVALID');
  });

  it('reads errors that come with 200, as from Slack', async () => {
    for (const [error, code] of [
      ['bad_redirect_uri', 'OIDC_REDIRECT_URI_MISMATCH'],
      ['invalid_code', 'OIDC_PROVIDER_ERROR'],
    ] as const) {
      provider.misbehavior = { token: (res) => json(res, 200, { ok: false, error }) };
      const told = await failure();
      expect(told.code).to.equal(code);
      if (code === 'OIDC_PROVIDER_ERROR') expect(told.error).to.include(error);
    }
  });

  it('knows what Apple calls it when a user cancels', async () => {
    provider.misbehavior = { callback: { error: 'user_cancelled_authorize' } };
    expect((await failure()).code).to.equal('OIDC_LOGIN_REFUSED');
  });

  it('names the algorithm as the cause if ID tokens are signed with the client secret, as at Auth0', async () => {
    provider.misbehavior = { signature: 'HS256 with the public key' };
    const { code, error } = await failure();
    expect(code).to.equal('OIDC_SIGNATURE_INVALID');
    expect(error).to.include('such as RS256');
  });

  it('is asked to sign out at an address that is short enough for Entra', async () => {
    const end_session_uri = `${provider.issuer}/end`;
    const ending = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer, end_session_uri }),
    );
    await fixture.map(roleid, ending, SUB_ID);
    const lengths: number[] = [];
    const hinted: boolean[] = [];
    for (let groups = 0; groups <= 40; groups += 2) {
      provider.misbehavior = { claims: { groups: Array.from({ length: groups }, () => randomUUID()) } };
      const { access_token } = await fixture.readAuthBody(await fixture.signIn(roleid, ending));
      const headers = { authorization: `Bearer ${access_token}` };
      const reply = await fixture.web.fetch('/oidc/logout', { method: 'POST', headers });
      const { logout_url } = (await reply.json()) as { logout_url: string };
      lengths.push(logout_url.length);
      hinted.push(new URL(logout_url).searchParams.has('id_token_hint'));
    }
    expect(Math.max(...lengths)).to.be.within(1_850, 2_000);
    // Up to some number of groups, and not beyond.
    expect(hinted).to.deep.equal([...hinted].sort((a, b) => Number(b) - Number(a)));
    expect([hinted[0], hinted.at(-1)]).to.deep.equal([true, false]);
  });

  it('is asked to sign out without the ID token, if its key of SECRET_KEYS was removed', async () => {
    const end_session_uri = `${provider.issuer}/end`;
    const ending = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer, end_session_uri }),
    );
    await fixture.map(roleid, ending, SUB_ID);
    const { access_token } = await fixture.readAuthBody(await fixture.signIn(roleid, ending));
    const knex = knexOf(fixture.web.testDatabase.database);
    const removed = knex.raw("'removed.' || split_part(id_token_encrypted, '.', 2)");
    expect(
      await knex('rowpost.session').where('confid', ending).update({ id_token_encrypted: removed }),
    ).to.equal(1);
    const headers = { authorization: `Bearer ${access_token}` };
    const response = await fixture.web.fetch('/oidc/logout', { method: 'POST', headers });
    expect(response.status).to.equal(200);
    const { ended, logout_url } = (await response.json()) as { ended: boolean; logout_url: string };
    expect([ended, new URL(logout_url).searchParams.has('id_token_hint')]).to.deep.equal([true, false]);
  });

  it('reports encrypted ID tokens as such', async () => {
    provider.misbehavior = { idToken: 'e30.a.b.c.d' };
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
        provider.misbehavior = { jwks: (res) => json(res, 200, { keys: [{ ...broken(), kid }] }) };
        expect(await failure()).to.include({ code: 'OIDC_SIGNATURE_INVALID', status: 401 });
        provider.misbehavior = {};
        await fixture.readAuthBody(await signIn());
      });
    }

    it('does not get in the way of the others', async () => {
      await provider.rotateKeys();
      const right = { ...(await provider.publicJwk()), kid: undefined };
      provider.misbehavior = {
        signature: 'without kid',
        jwks: (res) => json(res, 200, { keys: [shortKey(), right] }),
      };
      await fixture.readAuthBody(await signIn());
    });
  });
});
