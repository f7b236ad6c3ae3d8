import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { JWK } from 'jose';
import {
  startMisbehaving,
  SUB_ID,
  type MisbehavingFixture,
} from '../../../api/oidc/support/misbehavingFixture.js';
import {
  json,
  type MisbehavingProvider,
  type Misbehavior,
} from '../../../api/oidc/support/misbehavingProvider.js';
import { CLIENT, type FailureBody, type OidcFixture } from '../../../api/oidc/support/oidcFixture.js';

const SIGNED_IN = 'signed in';
const ID_TOKEN = 'OIDC_ID_TOKEN_INVALID';
const SIGNATURE = 'OIDC_SIGNATURE_INVALID';
const PROVIDER = 'OIDC_PROVIDER_ERROR';

const now = (): number => Math.floor(Date.now() / 1000);
const ME = CLIENT.client_id;
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const otherEc = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
/** As provider's JSON, which may have any shape. */
type Claims = NonNullable<Misbehavior['claims']>;
const odd = (claims: object): Claims => claims as Claims;

/** OpenID Connect Core 1.0, sections 2 and 3.1.3.7, and RFC 7519, by the claims that change. */
const CLAIMS: readonly (readonly [text: string, claims: () => Claims, outcome: string])[] = [
  ['2: iss is required', () => odd({ iss: undefined }), ID_TOKEN],
  ['3.1.3.7, 2: iss must be exactly the issuer', () => ({ iss: 'http://127.0.0.1' }), ID_TOKEN],
  ['2: iss is one string', () => odd({ iss: ['http://127.0.0.1'] }), ID_TOKEN],
  ['2: aud is required', () => odd({ aud: undefined }), ID_TOKEN],
  ['2: aud may be a string', () => ({ aud: ME }), SIGNED_IN],
  ['2: aud may be an array', () => ({ aud: [ME] }), SIGNED_IN],
  ['2: aud with this client twice has no other audience', () => ({ aud: [ME, ME] }), SIGNED_IN],
  ['3.1.3.7, 3: aud must contain the client', () => ({ aud: ['other'] }), ID_TOKEN],
  ['3.1.3.7, 3: an empty aud does not', () => ({ aud: [] }), ID_TOKEN],
  ['3.1.3.7, 3: client ids are case-sensitive', () => ({ aud: ME.toUpperCase() }), ID_TOKEN],
  ['3.1.3.7, 3: nor is a part of it enough', () => ({ aud: `${ME} other` }), ID_TOKEN],
  ['2: aud is not a number', () => odd({ aud: 7 }), ID_TOKEN],
  ['3.1.3.7, 4: of several audiences, azp should be present', () => ({ aud: [ME, 'other'] }), ID_TOKEN],
  ['3.1.3.7, 5: azp should be the client', () => ({ aud: [ME, 'other'], azp: ME }), SIGNED_IN],
  ['3.1.3.7, 5: also of one audience', () => ({ azp: ME }), SIGNED_IN],
  ['3.1.3.7, 5: azp of another client', () => ({ aud: [ME, 'other'], azp: 'other' }), ID_TOKEN],
  ['3.1.3.7, 5: azp of another client, with one audience', () => ({ azp: 'other' }), ID_TOKEN],
  ['2: azp is one string', () => odd({ azp: [ME] }), ID_TOKEN],
  ['2: exp is required', () => odd({ exp: undefined }), ID_TOKEN],
  ['3.1.3.7, 9: the time must be before exp', () => ({ exp: now() - 120 }), ID_TOKEN],
  ['2: exp may have a leeway of at most a few minutes', () => ({ exp: now() - 20 }), SIGNED_IN],
  ['RFC 7519, 2: a time may have a fraction', () => ({ exp: now() + 60.5, iat: now() - 0.5 }), SIGNED_IN],
  ['RFC 7519, 2: a time is a number', () => odd({ exp: String(now() + 300) }), ID_TOKEN],
  ['2: iat is required', () => odd({ iat: undefined }), ID_TOKEN],
  ['RFC 7519, 2: so is iat', () => odd({ iat: 'now' }), ID_TOKEN],
  ['3.1.3.7, 10: iat may be of long ago', () => ({ iat: now() - 7_200 }), SIGNED_IN],
  ['RFC 7519, 4.1.5: nbf of now, by a clock half a minute ahead', () => ({ nbf: now() + 30 }), SIGNED_IN],
  ['RFC 7519, 4.1.5: nbf must not be in the future', () => ({ nbf: now() + 300 }), ID_TOKEN],
  ['RFC 7519, 4.1.5: nbf is a number', () => odd({ nbf: 'now' }), ID_TOKEN],
  ['3.1.3.7, 11: nonce must be present', () => odd({ nonce: undefined }), ID_TOKEN],
  ['3.1.3.7, 11: nonce must be that of the request', () => ({ nonce: 'another' }), ID_TOKEN],
  ['3.1.3.7, 11: nonce is not null', () => odd({ nonce: null }), ID_TOKEN],
  ['2: sub is a string', () => odd({ sub: 7 }), 'OIDC_CLAIM_MISSING'],
  ['2: sub is case-sensitive', () => ({ sub: SUB_ID.toUpperCase() }), 'OIDC_IDENTITY_MISMATCH'],
  [
    '3.1.3.7, 12 and 13: acr and auth_time that nobody asked for',
    () => odd({ acr: 0, auth_time: 'x', amr: 7 }),
    SIGNED_IN,
  ],
  ['3.1.3.8: at_hash is of a token that is not used', () => odd({ at_hash: 'AAAA', c_hash: 7 }), SIGNED_IN],
  [
    '2: other claims must be ignored',
    () => odd({ jti: 1, sid: [], events: { a: null }, email_verified: 'no' }),
    SIGNED_IN,
  ],
];

/** RFC 7515 and Core 3.1.3.7, 7: the header of the ID token; `kid` stands for that of the key. */
const HEADERS: readonly (readonly [text: string, header: (kid: string) => object, outcome: string])[] = [
  ['RFC 7519, 5.1: typ may be any', (kid) => ({ alg: 'RS256', kid, typ: 'JWT' }), SIGNED_IN],
  ['RFC 7515, 4.1.4: kid may be missing', () => ({ alg: 'RS256' }), SIGNED_IN],
  ['RFC 7515, 4.1.4: kid of no key', () => ({ alg: 'RS256', kid: 'another' }), SIGNATURE],
  [
    'RFC 7515, 4.1: x5t, jku and jwk need not be used',
    (kid) => ({ alg: 'RS256', kid, x5t: 'x', jku: 'http://127.0.0.1:1/', jwk: otherRsa }),
    SIGNED_IN,
  ],
  [
    'RFC 7515, 4.1.11: an unknown critical parameter',
    (kid) => ({ alg: 'RS256', kid, crit: ['new'], new: 1 }),
    SIGNATURE,
  ],
  ['RFC 7515, 4.1.1: alg is required', (kid) => ({ kid }), ID_TOKEN],
  ['RFC 7515, 4.1.1: alg is case-sensitive', (kid) => ({ alg: 'rs256', kid }), SIGNATURE],
  ['RFC 7518, 3.1: an unknown alg', (kid) => ({ alg: 'RS257', kid }), SIGNATURE],
  ['RFC 8725, 3.1: none', (kid) => ({ alg: 'none', kid }), SIGNATURE],
  ['RFC 8725, 3.1: a MAC', (kid) => ({ alg: 'HS256', kid }), SIGNATURE],
  ['RFC 7518, 3.1: another alg than that of the signature', (kid) => ({ alg: 'PS256', kid }), SIGNATURE],
];

/** RFC 7517, with `right`, the key that signed the token. */
const KEY_SETS: readonly (readonly [
  text: string,
  keys: (right: JWK) => readonly unknown[],
  outcome: string,
])[] = [
  ['4.5: kid is optional', (right) => [{ ...right, kid: undefined }], SIGNED_IN],
  [
    '4.5: kid is optional, among several',
    (right) => [otherRsa, otherEc, { ...right, kid: undefined }],
    SIGNED_IN,
  ],
  [
    '4.5: kid is optional, among others with ids',
    (right) => [
      { ...otherRsa, kid: 'a' },
      { ...right, kid: undefined },
    ],
    SIGNED_IN,
  ],
  [
    '4.5: an empty or missing id is none',
    (right) => [
      { ...otherEc, kid: '' },
      { ...right, kid: null },
    ],
    SIGNED_IN,
  ],
  [
    '4.5: keys may share an id',
    (right) => [{ ...otherRsa, kid: right.kid }, { ...otherEc, kid: right.kid }, right],
    SIGNED_IN,
  ],
  ['4.5: a key of that id signed nothing', (right) => [{ ...otherRsa, kid: right.kid }], SIGNATURE],
  ['4.5: a key of another id is not meant', (right) => [{ ...right, kid: 'another' }], SIGNATURE],
  ['4.4: alg is optional', (right) => [{ ...right, alg: undefined }], SIGNED_IN],
  ['4.4: alg of another use of the key', (right) => [{ ...right, alg: 'RS512' }], SIGNATURE],
  ['4.4: an unknown alg beside it', (right) => [{ ...otherRsa, kid: 'a', alg: 'NEW' }, right], SIGNED_IN],
  ['4.2: use is optional', (right) => [{ ...right, use: undefined }], SIGNED_IN],
  ['4.2: a key for encryption', (right) => [{ ...right, use: 'enc' }], SIGNATURE],
  [
    '4.2: one for each use, with one id',
    (right) => [{ ...otherRsa, kid: right.kid, use: 'enc' }, right],
    SIGNED_IN,
  ],
  ['4.3: key_ops with verify', (right) => [{ ...right, use: undefined, key_ops: ['verify'] }], SIGNED_IN],
  ['4.3: key_ops and use that agree', (right) => [{ ...right, key_ops: ['verify'] }], SIGNED_IN],
  ['4.3: key_ops without verify', (right) => [{ ...right, use: undefined, key_ops: ['encrypt'] }], SIGNATURE],
  [
    '4: unknown members must be ignored',
    (right) => [{ ...right, new: { a: 1 }, x5t: 'x', nbf: 0 }],
    SIGNED_IN,
  ],
  [
    '5: an unknown kty should be ignored',
    (right) => [{ kty: 'NEW', kid: right.kid }, { kid: 'b' }, right],
    SIGNED_IN,
  ],
  ['5: so should a key without its members', (right) => [{ kty: 'RSA', kid: right.kid }, right], SIGNED_IN],
  ['5: so should what is no key', (right) => [null, 'key', 7, [], right], SIGNED_IN],
  ['5: no keys', () => [], SIGNATURE],
  [
    '9.2: secrets are not for key sets',
    (right) => [{ kty: 'oct', k: 'AAAA', kid: right.kid, alg: 'HS256' }],
    SIGNATURE,
  ],
];

/** RFC 6749, 5.1, and Core 3.1.3.3, by what comes with the ID token. */
const BESIDES: readonly (readonly [text: string, besides: object])[] = [
  ['token_type is case-insensitive', { access_token: 'a', token_type: 'BEARER' }],
  ['expires_in as text', { access_token: 'a', token_type: 'Bearer', expires_in: '3600' }],
  ['a list as scope', { access_token: 'a', token_type: 'Bearer', scope: ['openid'] }],
  [
    'refresh_token and what is unknown',
    { access_token: 'a', token_type: 'Bearer', refresh_token: 'r', new: {} },
  ],
  ['null for what is missing', { access_token: null, token_type: null, refresh_token: null, error: null }],
];

const statuses = [400, 401, 403] as const;
/** How token endpoints refuse client_secret_basic: RFC 6749, 5.2, and what others send instead. */
const BASIC_REFUSALS: readonly (readonly [what: string, refuse: (res: ServerResponse) => void])[] = [
  ...statuses.flatMap((status) =>
    [
      { error: 'invalid_client' },
      { error: 'unauthorized_client', error_description: 'Invalid client or Invalid client credentials' },
      { error: 'invalid_request', error_description: 'client_id is missing' },
      { error: 'access_denied', error_description: 'Unauthorized' },
      { error: 'bad_client_secret' },
      { error: { message: 'Missing client_id', code: 101 } },
      { message: 'Unauthorized' },
    ].map(
      (body) =>
        [`${status} ${JSON.stringify(body)}`, (res: ServerResponse) => json(res, status, body)] as const,
    ),
  ),
  ...statuses.map(
    (status) => [`${status} and nothing`, (res: ServerResponse) => void res.writeHead(status).end()] as const,
  ),
  ...statuses.map(
    (status) =>
      [
        `${status} and a page`,
        (res: ServerResponse) =>
          void res.writeHead(status, { 'content-type': 'text/html' }).end('<h1>No</h1>'),
      ] as const,
  ),
  [
    '401 and a challenge',
    (res) => {
      res.setHeader('www-authenticate', 'Basic realm="op", error="invalid_client"');
      json(res, 401, { error: 'invalid_client' });
    },
  ],
  ['200 and an error', (res) => json(res, 200, { error: 'incorrect_client_credentials' })],
];

/** What says that the client was let in, or nothing of it: one request is sent. */
const OTHER_REFUSALS: readonly (readonly [status: number, body: object, outcome: string])[] = [
  [400, { error: 'invalid_grant' }, 'OIDC_CODE_REFUSED'],
  [401, { error: 'invalid_grant' }, 'OIDC_CODE_REFUSED'],
  [403, { error: 'invalid_grant' }, 'OIDC_CODE_REFUSED'],
  [400, { error: 'unsupported_grant_type' }, PROVIDER],
  [400, { error: 'invalid_scope' }, PROVIDER],
  [500, { error: 'invalid_client' }, PROVIDER],
  [503, {}, PROVIDER],
  [429, {}, PROVIDER],
  [302, {}, PROVIDER],
];

describe('sign-in through an identity provider, by the specifications', () => {
  let misbehaving: MisbehavingFixture;
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let confid: number;
  let roleid: number;

  before(async () => {
    misbehaving = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    ({ fixture, provider, confid, roleid } = misbehaving);
  });
  afterEach(() => {
    provider.misbehavior = {};
  });
  after(() => misbehaving.stop());

  async function outcome(of = confid): Promise<string> {
    const response = await fixture.signIn(roleid, of);
    const { code = SIGNED_IN, status } = (await response.json()) as Partial<FailureBody>;
    expect(status ?? 200).to.equal(response.status);
    return code;
  }

  for (const [text, claims, expected] of CLAIMS) {
    it(`Core ${text}: ${expected}`, async () => {
      provider.misbehavior = { claims: claims() };
      expect(await outcome()).to.equal(expected);
    });
  }

  for (const [text, header, expected] of HEADERS) {
    it(`${text}: ${expected}`, async () => {
      provider.misbehavior = { header: header((await provider.publicJwk()).kid!) };
      expect(await outcome()).to.equal(expected);
    });
  }

  for (const [text, keys, expected] of KEY_SETS) {
    it(`RFC 7517, ${text}: ${expected}`, async () => {
      // Of its own, so that the keys are read.
      const { endpoints, issuer } = provider;
      const jwks_uri = `${endpoints.jwks_uri}?${encodeURIComponent(text)}`;
      const fresh = await fixture.createConfig(
        await fixture.createProvider({ ...endpoints, issuer, jwks_uri }),
      );
      await fixture.map(roleid, fresh, SUB_ID);
      const right = await provider.publicJwk();
      provider.misbehavior = { jwks: (res) => json(res, 200, { keys: keys(right) }) };
      expect(await outcome(fresh)).to.equal(expected);
      // A key that comes later is found, whatever the set was.
      if (expected !== SIGNED_IN) {
        provider.misbehavior = {};
        expect(await outcome(fresh)).to.equal(SIGNED_IN);
      }
    });
  }

  it('RFC 7517, 4.5: keys without an id are rotated', async () => {
    const nameless = async (): Promise<void> => {
      await provider.rotateKeys();
      const keys = [{ ...(await provider.publicJwk()), kid: undefined }];
      provider.misbehavior = { jwks: (res) => json(res, 200, { keys }) };
      expect(await outcome()).to.equal(SIGNED_IN);
    };
    await nameless();
    await nameless();
  });

  for (const [text, besides] of BESIDES) {
    it(`RFC 6749, 5.1: ${text}`, async () => {
      provider.misbehavior = { besides };
      expect(await outcome()).to.equal(SIGNED_IN);
    });
  }

  for (const [what, basic] of BASIC_REFUSALS) {
    it(`RFC 6749, 2.3.1: client_secret_post, where client_secret_basic is refused with ${what}`, async () => {
      provider.misbehavior = { basic };
      expect(await outcome()).to.equal(SIGNED_IN);
      expect(provider.lastForm.get('client_id')).to.equal(ME);
      expect(provider.lastForm.get('client_secret')).to.equal(CLIENT.client_secret);
      expect(provider.lastAuthorization).to.equal(undefined);
      // Both are refused.
      provider.misbehavior = { token: basic };
      expect(await outcome()).to.match(/^OIDC_(CLIENT_REFUSED|PROVIDER_ERROR|LOGIN_REFUSED)$/);
    });
  }

  for (const [status, body, expected] of OTHER_REFUSALS) {
    it(`RFC 6749, 5.2: ${status} ${JSON.stringify(body)} is not sent again: ${expected}`, async () => {
      let requests = 0;
      provider.misbehavior = {
        token: (res) => {
          requests += 1;
          json(res, status, body);
        },
      };
      expect(await outcome()).to.equal(expected);
      expect(requests).to.equal(1);
    });
  }

  for (const [text, callback, expected] of [
    ['RFC 9207, 2.4: iss of the provider', { code: 'CODE', iss: 'ISSUER' }, 'OIDC_CODE_REFUSED'],
    ['RFC 9207, 2.4: iss of another', { code: 'CODE', iss: 'http://127.0.0.1' }, PROVIDER],
    ['RFC 9207, 2.4: an empty iss', { code: 'CODE', iss: '' }, PROVIDER],
    [
      'RFC 9207, 2.4: iss comes with errors too',
      { error: 'access_denied', iss: 'http://127.0.0.1' },
      PROVIDER,
    ],
    ['RFC 6749, 4.1.2.1: an error', { error: 'access_denied', iss: 'ISSUER' }, 'OIDC_LOGIN_REFUSED'],
    ['RFC 6749, 4.1.2.1: an error of the server', { error: 'temporarily_unavailable' }, PROVIDER],
    ['RFC 6749, 4.1.2: neither', {}, PROVIDER],
    [
      'RFC 6749, 4.1.2: what is unknown must be ignored',
      { code: 'CODE', session_state: 'x', scope: '' },
      'OIDC_CODE_REFUSED',
    ],
  ] as const) {
    it(`${text}: ${expected}`, async () => {
      const given = Object.entries(callback).map(([name, value]) => [
        name,
        value === 'ISSUER' ? provider.issuer : value,
      ]);
      provider.misbehavior = { callback: Object.fromEntries(given) as Record<string, string> };
      expect(await outcome()).to.equal(expected);
    });
  }
});
