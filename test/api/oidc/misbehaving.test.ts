import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { HttpBrowser } from './support/httpBrowser.js';
import { startMisbehaving, SUB_ID, type MisbehavingFixture } from './support/misbehavingFixture.js';
import { json, type MisbehavingProvider, type Misbehavior } from './support/misbehavingProvider.js';
import { CLIENT, type FailureBody, type OidcFixture } from './support/oidcFixture.js';

const TIMEOUT_MS = 400;
const now = (): number => Math.floor(Date.now() / 1000);

/** What the provider does wrong, and what the caller is told. */
const CASES: readonly [string, Misbehavior, number, string][] = [
  ['a signature by another key', { signature: 'other key' }, 401, 'OIDC_SIGNATURE_INVALID'],
  ['alg none', { signature: 'none' }, 401, 'OIDC_SIGNATURE_INVALID'],
  [
    'HS256 keyed with the public key',
    { signature: 'HS256 with the public key' },
    401,
    'OIDC_SIGNATURE_INVALID',
  ],
  ['no JWT', { idToken: 'not.a.token' }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['another audience', { claims: { aud: 'foreign-client' } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  [
    'several audiences and no azp',
    { claims: { aud: [CLIENT.client_id, 'foreign-client'] } },
    401,
    'OIDC_ID_TOKEN_INVALID',
  ],
  ['another azp', { claims: { azp: 'foreign-client' } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['another issuer', { claims: { iss: 'https://elsewhere.example' } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['another nonce', { claims: { nonce: 'from another sign-in' } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['an expired token', { claims: { exp: now() - 3_600 } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['a token from the future', { claims: { nbf: now() + 3_600 } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['a time that is no date', { claims: { iat: 1e15 } }, 401, 'OIDC_ID_TOKEN_INVALID'],
  ['another identity', { claims: { sub: 'someone else' } }, 403, 'OIDC_IDENTITY_MISMATCH'],
  ['a number as the claim', { claims: { sub: 7 as unknown as string } }, 403, 'OIDC_CLAIM_MISSING'],
  ['an empty claim', { claims: { sub: '' } }, 403, 'OIDC_CLAIM_MISSING'],
  ['no such claim', { claims: { sub: undefined as unknown as string } }, 403, 'OIDC_CLAIM_MISSING'],
  [
    'a token endpoint that responds with 400',
    { token: (res) => json(res, 400, { error: 'invalid_request' }) },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
  [
    'a code that it knows no more',
    { token: (res) => json(res, 400, { error: 'invalid_grant' }) },
    400,
    'OIDC_CODE_REFUSED',
  ],
  [
    'another redirect URI',
    {
      token: (res) => json(res, 400, { error: 'invalid_grant', error_description: 'redirect_uri mismatch' }),
    },
    400,
    'OIDC_REDIRECT_URI_MISMATCH',
  ],
  [
    'a token that nests deeper than can be written down',
    {
      token: (res) => {
        const deep = '['.repeat(100_000) + ']'.repeat(100_000);
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(`{"access_token": "a", "token_type": "bearer", "id_token": "a.b.c", "more": ${deep}}`);
      },
    },
    401,
    'OIDC_ID_TOKEN_INVALID',
  ],
  [
    'a token endpoint that responds with 500',
    { token: (res) => res.writeHead(500).end() },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
  [
    'a token endpoint that responds with HTML',
    { token: (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sorry</h1>') },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
  ['a token endpoint that hangs up', { token: (res) => res.destroy() }, 502, 'OIDC_PROVIDER_ERROR'],
  ['a token endpoint that never responds', { token: () => undefined }, 502, 'OIDC_PROVIDER_ERROR'],
  [
    'a token endpoint that redirects',
    { token: (res) => res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end() },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
  [
    'a response without an ID token',
    { token: (res) => json(res, 200, { access_token: 'opaque', token_type: 'Bearer' }) },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
  ['null instead of a response', { token: (res) => json(res, 200, null) }, 502, 'OIDC_PROVIDER_ERROR'],
  ['an error beside the state', { callback: { error: 'access_denied' } }, 403, 'OIDC_LOGIN_REFUSED'],
  ['an error of its own', { callback: { error: 'server_error' } }, 502, 'OIDC_PROVIDER_ERROR'],
  ['neither a code nor an error', { callback: {} }, 502, 'OIDC_PROVIDER_ERROR'],
  [
    'a callback from another issuer',
    { callback: { code: 'x', iss: 'https://elsewhere.example' } },
    502,
    'OIDC_PROVIDER_ERROR',
  ],
];

/** What can be wrong with the key set, for a provider whose keys are not known yet. */
const JWKS_CASES: readonly [string, (res: ServerResponse) => void][] = [
  ['down', (res) => res.destroy()],
  ['failing', (res) => res.writeHead(503).end()],
  ['slow', () => undefined],
  ['huge', (res) => json(res, 200, { keys: [], padding: 'x'.repeat(300_000) })],
  ['no key set', (res) => json(res, 200, { keys: 'none' })],
  ['no JSON', (res) => res.writeHead(200).end('<html>')],
];

describe('sign-in through a provider that misbehaves', () => {
  let misbehaving: MisbehavingFixture;
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let confid: number;
  let roleid: number;
  let clockAheadMs = 0;

  before(async () => {
    misbehaving = await startMisbehaving({
      env: { OIDC_TIMEOUT_MS: String(TIMEOUT_MS) },
      clock: { now: () => Date.now() + clockAheadMs },
    });
    ({ fixture, provider, confid, roleid } = misbehaving);
  });
  beforeEach(() => {
    provider.misbehavior = {};
  });
  after(() => misbehaving.stop());

  async function expectFailure(response: Response, status: number, code: string): Promise<FailureBody> {
    const body = (await response.json()) as FailureBody;
    expect(body.code).to.equal(code);
    expect(body.status).to.equal(status);
    expect(response.status).to.equal(status);
    return body;
  }

  it('signs in while the provider behaves', async () => {
    const body = await fixture.readAuthBody(await fixture.signIn(roleid, confid));
    expect(body.roleid).to.equal(roleid);
    expect(provider.lastForm.get('redirect_uri')).to.equal(fixture.redirectUri);
    expect(provider.lastForm.get('code_verifier')).to.match(/^[\w-]{43,}$/);
    expect(provider.lastForm.has('client_secret')).to.equal(false);
    const credentials = Buffer.from(provider.lastAuthorization?.slice(6) ?? '', 'base64').toString();
    expect(decodeURIComponent(credentials.split(':')[1]!).replaceAll('+', ' ')).to.equal(
      CLIENT.client_secret,
    );
  });

  for (const [what, misbehavior, status, code] of CASES) {
    it(`${what}: ${code}`, async () => {
      provider.misbehavior = misbehavior;
      const body = await expectFailure(await fixture.signIn(roleid, confid), status, code);
      expect(body.error).not.to.match(/somebody|someone else|foreign-client|elsewhere|the secret/);
    });
  }

  it('names the issuer as the cause if another one comes with the code', async () => {
    provider.misbehavior = { callback: { code: 'x', iss: `${provider.issuer}/` } };
    const body = await expectFailure(await fixture.signIn(roleid, confid), 502, 'OIDC_PROVIDER_ERROR');
    expect(body.error).to.include('Another issuer than the provider').and.to.include('iss');
  });

  it('shows the redirect URI to register', async () => {
    provider.misbehavior = { token: (res) => json(res, 400, { error: 'redirect_uri_mismatch' }) };
    const body = await expectFailure(await fixture.signIn(roleid, confid), 400, 'OIDC_REDIRECT_URI_MISMATCH');
    expect(body.error).to.include(fixture.redirectUri);
  });

  describe('with its signing keys', () => {
    for (const [what, jwks] of JWKS_CASES) {
      it(`${what}: OIDC_PROVIDER_ERROR, and recovers afterwards`, async () => {
        const fresh = await fixture.createConfig(
          await fixture.createProvider({
            ...provider.endpoints,
            jwks_uri: `${provider.issuer}/jwks?${encodeURIComponent(what)}`,
          }),
        );
        await fixture.map(roleid, fresh, SUB_ID);
        provider.misbehavior = { jwks };
        await expectFailure(await fixture.signIn(roleid, fresh), 502, 'OIDC_PROVIDER_ERROR');
        provider.misbehavior = {};
        await fixture.readAuthBody(await fixture.signIn(roleid, fresh));
      });
    }

    it('fetches them once for many sign-ins, and again after a rotation', async () => {
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      const before = provider.jwksReads;
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      expect(provider.jwksReads).to.equal(before);
      await provider.rotateKeys();
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      expect(provider.jwksReads).to.equal(before + 1);
    });

    it('accepts new keys under a reused key id, and tokens without a key id', async () => {
      await provider.rotateKeys('always the same');
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      await provider.rotateKeys('always the same');
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      provider.misbehavior = { signature: 'without kid' };
      await fixture.readAuthBody(await fixture.signIn(roleid, confid));
      const jwks = { keys: [] };
      provider.misbehavior = { jwks: (res) => json(res, 200, jwks), signature: 'other key' };
      await expectFailure(await fixture.signIn(roleid, confid), 401, 'OIDC_SIGNATURE_INVALID');
    });
  });

  it('asks for its discovery document again a minute after it gave no response', async () => {
    const fresh = await fixture.createConfig(await fixture.createProvider(provider.endpoints));
    await fixture.map(roleid, fresh, SUB_ID);
    const signIn = (): Promise<Response> => fixture.signIn(roleid, fresh);
    provider.misbehavior = { wellKnown: (res) => res.writeHead(503).end() };
    await fixture.readAuthBody(await signIn());
    const { issuer, endpoints } = provider;
    provider.misbehavior = { discovery: { '': { issuer, jwks_uri: endpoints.jwks_uri } } };
    const before = provider.discoveryReads;
    await fixture.readAuthBody(await signIn());
    expect(provider.discoveryReads).to.equal(before);
    clockAheadMs = 61_000;
    await fixture.readAuthBody(await signIn());
    expect(provider.discoveryReads).to.be.greaterThan(before);
    provider.misbehavior = { claims: { iss: `${issuer}/another` } };
    await expectFailure(await signIn(), 401, 'OIDC_ID_TOKEN_INVALID');
    clockAheadMs = 0;
  });

  it('is told of a claim that is left out or of another type, instead of clocks and other sign-ins', async () => {
    const wrong = [
      ...['iss', 'aud', 'exp', 'iat', 'nonce'].map((name) => ({ [name]: undefined })),
      ...['exp', 'iat', 'nbf'].map((name) => ({ [name]: '9999999999' })),
      { azp: undefined, aud: [CLIENT.client_id, 'foreign-client'] },
    ];
    for (const claims of wrong as unknown as NonNullable<Misbehavior['claims']>[]) {
      provider.misbehavior = { claims };
      const response = await fixture.signIn(roleid, confid);
      const { code, error } = (await response.json()) as FailureBody;
      expect([response.status, code]).to.deep.equal([401, 'OIDC_ID_TOKEN_INVALID']);
      expect(error)
        .to.include(`(claim ${Object.keys(claims)[0]!})`)
        .and.include('leaves the claim out');
    }
  });

  it('matches no role to an unverified email address', async () => {
    const providerid = await fixture.createProvider({ ...provider.endpoints, comparison_field: 'email' });
    const byEmail = await fixture.createConfig(providerid);
    await fixture.map(roleid, byEmail, 'a@example.com');
    provider.misbehavior = { claims: { email: 'a@example.com', email_verified: true } };
    await fixture.readAuthBody(await fixture.signIn(roleid, byEmail));
    provider.misbehavior = { claims: { email: 'a@example.com', email_verified: false } };
    await expectFailure(await fixture.signIn(roleid, byEmail), 403, 'OIDC_IDENTITY_MISMATCH');
    for (const sub of [7, '', null, ['somebody'], { a: 1 }, true]) {
      const claims = { email: 'a@example.com', email_verified: true, sub: sub as string };
      provider.misbehavior = { claims };
      await expectFailure(await fixture.signIn(roleid, byEmail), 403, 'OIDC_CLAIM_MISSING');
    }
  });

  it('does not take an inherited object property for a claim', async () => {
    const providerid = await fixture.createProvider({
      ...provider.endpoints,
      comparison_field: 'constructor',
    });
    const odd = await fixture.createConfig(providerid);
    await fixture.map(roleid, odd, 'x');
    await expectFailure(await fixture.signIn(roleid, odd), 403, 'OIDC_CLAIM_MISSING');
  });

  it('retries with client_secret_post when the provider refuses HTTP Basic', async () => {
    const responses = [
      (res: ServerResponse) => json(res, 401, { error: 'invalid_client' }),
      (res: ServerResponse) => json(res, 400, { error: 'invalid_client' }),
    ];
    provider.misbehavior = { token: (res) => responses.shift()?.(res) };
    await expectFailure(await fixture.signIn(roleid, confid), 502, 'OIDC_CLIENT_REFUSED');
    expect(responses).to.have.length(0);
    expect(provider.lastForm.get('client_secret')).to.equal(CLIENT.client_secret);
    expect(provider.lastAuthorization).to.equal(undefined);
  });

  it('does not call the provider again when the browser repeats the callback', async () => {
    const browser = new HttpBrowser();
    const { url } = await browser.follow(
      await fixture.begin(browser, roleid, confid),
      (next) => !next.startsWith(fixture.baseUrl),
    );
    expect((await browser.send(url)).status).to.equal(200);
    await expectFailure(await browser.send(url), 400, 'OIDC_STATE_INVALID');
  });
});
