import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose';
import { ProviderKeys } from '../../src/api/oidc/providerKeys.js';
import { ALGORITHMS, verifySigned } from '../../src/api/oidc/verifyIdToken.js';
import { systemClock } from '../../src/foundation/clock.js';
import { json, MisbehavingProvider } from '../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../api/oidc/support/oidcFixture.js';
import { cpuTimer } from '../support/cpuTime.js';

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

const MAX_BYTES = 256 * 1024;
const TOKENS = 20;
/** A token of a usual key set takes 0.3 ms. */
const MAX_CPU_MS = 15;

const text = (bytes: number, first: number): string => {
  const made = randomBytes(bytes);
  made[0] = first;
  made[bytes - 1]! |= 1;
  return made.toString('base64url');
};
const ofCurve = (crv: string, x: string, y: string): (() => JWK) => {
  return () => ({ kty: 'EC', crv, x, y });
};

/** Keys, as many as fit, and the algorithm of a token that any of them may have signed. */
const KEYS: Readonly<Record<string, readonly [string, () => JWK]>> = {
  'moduli with exponents as long': ['RS256', () => ({ kty: 'RSA', n: text(384, 0xff), e: text(384, 0x3f) })],
  'long moduli': ['RS256', () => ({ kty: 'RSA', n: text(2_048, 0xff), e: 'AQAB' })],
  'moduli too short to use': ['RS256', () => ({ kty: 'RSA', n: text(4, 0xff), e: 'AQAB' })],
  'points off the curve': ['ES256', () => ofCurve('P-256', text(32, 1), text(32, 2))()],
  'no points': ['ES256', ofCurve('P-256', '', '')],
  'points off a long curve': ['ES512', ofCurve('P-521', 'A'.repeat(88), 'A'.repeat(88))],
};

describe('attack: a provider has keys of which each token costs CPU time', () => {
  for (const [what, [alg, make]] of Object.entries(KEYS)) {
    for (const isSignedBy of ['the tenth', 'none'] as const) {
      it(`${what}, and the token is signed by ${isSignedBy}`, async () => {
        const { publicKey, privateKey } = await generateKeyPair(alg, {
          extractable: true,
          modulusLength: 3_072,
        });
        const keys: JWK[] = [];
        for (let bytes = 5_000; bytes < MAX_BYTES;) {
          keys.push(keys.length === 9 && isSignedBy === 'the tenth' ? await exportJWK(publicKey) : make());
          bytes += JSON.stringify(keys.at(-1)).length + 1;
        }
        const response = { status: 200, text: JSON.stringify({ keys }) };
        const providerKeys = new ProviderKeys(() => Promise.resolve(response), systemClock);
        const token = await new SignJWT({}).setProtectedHeader({ alg }).sign(privateKey);
        const verify = () =>
          verifySigned(providerKeys, 'https://idp.example/keys', token, { algorithms: [alg] }, Infinity).then(
            () => 'the tenth',
            () => 'none',
          );
        expect(await verify()).to.equal(isSignedBy);
        const cpuMs = cpuTimer();
        for (let n = 0; n < TOKENS; n++) await verify();
        expect(cpuMs() / TOKENS).to.be.lessThan(MAX_CPU_MS);
      });
    }
  }

  for (const alg of ALGORITHMS) {
    it(`but keys for ${alg} still count, whether or not they name it`, async () => {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = await exportJWK(publicKey);
      const token = await new SignJWT({ sub: 'x' }).setProtectedHeader({ alg }).sign(privateKey);
      for (const named of [{}, { alg }, { alg, use: 'sig', key_ops: ['verify'] }]) {
        const response = { status: 200, text: JSON.stringify({ keys: [{ ...jwk, ...named }] }) };
        const providerKeys = new ProviderKeys(() => Promise.resolve(response), systemClock);
        const verified = await verifySigned(providerKeys, 'https://idp.example/keys', token, {
          algorithms: [alg],
        });
        expect(verified.sub).to.equal('x');
      }
    });
  }
});
