import { expect } from 'chai';
import { createProviderClient } from '../../../src/api/oidc/providerClient.js';
import { AppError } from '../../../src/foundation/errors.js';
import { isPrivateAddress } from '../../../src/foundation/net/networkAddress.js';
import { PXADMIN_PASSWORD, WebFixture } from '../webFixture.js';
import { MisbehavingProvider } from './support/misbehavingProvider.js';

const CREATE =
  'mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) { providerid } }';
const PUBLIC = 'https://login.example.com/';

describe('addresses of providers', () => {
  it('are classified as private or public', () => {
    for (const address of [
      '127.0.0.1',
      '10.1.2.3',
      '172.31.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '::1',
      '::',
      'fd00::1',
      'fe80::1',
      '::ffff:10.0.0.1',
      '::ffff:7f00:1',
    ]) {
      expect(isPrivateAddress(address), address).to.equal(true);
    }
    for (const address of ['1.1.1.1', '172.32.0.1', '192.169.0.1', '2606:4700::1', '::ffff:1.1.1.1']) {
      expect(isPrivateAddress(address), address).to.equal(false);
    }
  });

  describe('in production', () => {
    const call = createProviderClient({ timeoutMs: 2_000, allowPrivateNetwork: false });
    let provider: MisbehavingProvider;
    before(async () => {
      provider = await MisbehavingProvider.start();
    });
    after(() => provider.stop());

    async function refusal(url: string): Promise<AppError> {
      try {
        await call(new URL(url), { method: 'GET', headers: {} });
      } catch (error) {
        if (error instanceof AppError) return error;
        throw error;
      }
      throw new Error(`${url} was called`);
    }

    it('are not called in private networks, by address or name, or without TLS', async () => {
      const { port } = new URL(provider.issuer);
      for (const url of [
        provider.endpoints.jwks_uri,
        `https://127.0.0.1:${port}/jwks`,
        `https://[::1]:${port}/jwks`,
        `https://localhost:${port}/jwks`,
        `https://2130706433:${port}/jwks`,
      ]) {
        const error = await refusal(url);
        expect(error.code, url).to.equal('OIDC_PROVIDER_ERROR');
        expect(error.message, url).to.match(/private network|without encryption/);
      }
      expect(provider.jwksReads).to.equal(0);
    });

    it('are called where that is allowed', async () => {
      const allowed = createProviderClient({ timeoutMs: 2_000, allowPrivateNetwork: true });
      const response = await allowed(new URL(provider.endpoints.jwks_uri), { method: 'GET', headers: {} });
      expect(response.status).to.equal(200);
    });

    it('are refused when a provider is saved', async () => {
      for (const [oidcAllowPrivateNetwork, expected] of [
        [false, 'BAD_USER_INPUT'],
        [true, undefined],
      ] as const) {
        const fixture = await WebFixture.start({ config: { production: true, oidcAllowPrivateNetwork } });
        try {
          const { access_token } = await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD);
          for (const jwks_uri of ['http://login.example.com/', 'https://10.0.0.1/', 'https://localhost/']) {
            const input = { name: jwks_uri, auth_uri: PUBLIC, token_uri: PUBLIC, jwks_uri };
            const { errors } = await fixture.control(access_token, CREATE, { input });
            expect(errors?.[0]?.extensions.code, jwks_uri).to.equal(expected);
          }
        } finally {
          await fixture.stop();
        }
      }
    });
  });
});
