import { expect } from 'chai';
import { WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { MisbehavingProvider, type Misbehavior } from '../../api/oidc/support/misbehavingProvider.js';
import { OidcFixture, type FailureBody, type ProviderInput } from '../../api/oidc/support/oidcFixture.js';
import { knexOf } from '../../support/knexOf.js';

const EMAIL = 'a@example.com';

describe('attack: an identity the provider does not vouch for', () => {
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let names = 0;

  before(async () => {
    [fixture, provider] = await Promise.all([OidcFixture.start(), MisbehavingProvider.start()]);
  });
  after(() => Promise.all([fixture.stop(), provider.stop()]));
  afterEach(() => {
    provider.misbehavior = {};
  });

  interface Mapped {
    readonly providerid: number;
    /** Signs in at a provider that does as it is told. @returns the code of the failure, or `signed in` */
    readonly signIn: (misbehavior: Misbehavior) => Promise<string>;
  }

  async function mapped(input: Partial<ProviderInput>, sub_id: string): Promise<Mapped> {
    const providerid = await fixture.createProvider({ ...provider.endpoints, ...input });
    const confid = await fixture.createConfig(providerid);
    const roleid = await fixture.createMappedRole(`role ${(names += 1)}`, confid, sub_id);
    const signIn = async (misbehavior: Misbehavior): Promise<string> => {
      provider.misbehavior = misbehavior;
      const response = await fixture.signIn(roleid, confid);
      return response.status === 200 ? 'signed in' : ((await response.json()) as FailureBody).code;
    };
    return { providerid, signIn };
  }
  const update = (providerid: number, input: string): Promise<GraphqlResult> =>
    fixture.web.control(
      fixture.pxadmin,
      `mutation { update_oidc_providers(providerid: ${providerid}, input: {${input}}) { email_always_verified } }`,
    );

  it('is an email address whose email_verified is anything but true', async () => {
    const { signIn } = await mapped({ comparison_field: 'email' }, EMAIL);
    expect(await signIn({ claims: { email: EMAIL, email_verified: true } })).to.equal('signed in');
    for (const email_verified of [false, 'false', 'true', 0, 1, null, undefined, [], {}]) {
      const claims = { email: EMAIL, email_verified };
      expect(await signIn({ claims }), JSON.stringify(claims)).to.equal('OIDC_IDENTITY_MISMATCH');
    }
  });

  it('is one although the provider was declared never to send the claim', async () => {
    const { providerid, signIn } = await mapped({ comparison_field: 'email' }, EMAIL);
    const changed = await update(providerid, 'email_always_verified: true');
    expect(changed.data).to.deep.equal({ update_oidc_providers: { email_always_verified: true } });
    expect(await signIn({ claims: { email: EMAIL } })).to.equal('signed in');
    for (const email_verified of [false, 'false', 0]) {
      expect(await signIn({ claims: { email: EMAIL, email_verified } })).to.equal('OIDC_IDENTITY_MISMATCH');
    }
    await update(providerid, 'email_always_verified: false');
    expect(await signIn({ claims: { email: EMAIL } })).to.equal('OIDC_IDENTITY_MISMATCH');
  });

  it("is a token of another issuer at the provider's host, once its discovery document was read", async () => {
    const own = `${provider.issuer}/realms/own`;
    const document = { issuer: own, jwks_uri: provider.endpoints.jwks_uri };
    const discovery = { '/realms/own': document };
    const { providerid, signIn } = await mapped(
      { auth_uri: `${provider.issuer}/realms/own/authorize` },
      'somebody',
    );
    const sign = (iss: string, more: Misbehavior = {}): Promise<string> =>
      signIn({ claims: { iss }, ...more });
    // The first to come in is the attacker.
    expect(await sign(`${provider.issuer}/realms/other`, { discovery })).to.equal('OIDC_ID_TOKEN_INVALID');
    for (const iss of [provider.issuer, `${own}/`, own.toUpperCase(), `${own}?`]) {
      expect(await sign(iss, { discovery }), iss).to.equal('OIDC_ID_TOKEN_INVALID');
    }
    expect(await sign(own, { discovery })).to.equal('signed in');
    // Kept: a document that can't be had later opens nothing.
    expect(await sign(`${provider.issuer}/realms/other`)).to.equal('OIDC_ID_TOKEN_INVALID');
    expect(await sign(own)).to.equal('signed in');
    await update(providerid, `issuer: "${provider.issuer}/realms/third"`);
    expect(await sign(own, { discovery })).to.equal('OIDC_ID_TOKEN_INVALID');
    expect(await sign(`${provider.issuer}/realms/third`, { discovery })).to.equal('signed in');
  });

  it('is no discovery document of another, or with other keys', async () => {
    const jwks_uri = provider.endpoints.jwks_uri;
    for (const document of [
      { issuer: `${provider.issuer}/elsewhere`, jwks_uri },
      { issuer: `${provider.issuer}/realms/own`, jwks_uri: `${jwks_uri}?other` },
      { issuer: 7, jwks_uri },
    ]) {
      const { signIn } = await mapped({ auth_uri: `${provider.issuer}/realms/own/authorize` }, 'somebody');
      const discovery = { '/realms/own': document };
      // As without one: any issuer on the host of auth_uri.
      expect(await signIn({ discovery })).to.equal('signed in');
      expect(await signIn({ discovery, claims: { iss: 'https://elsewhere.example' } })).to.equal(
        'OIDC_ID_TOKEN_INVALID',
      );
    }
  });
});

describe('attack: a provider as it was saved before', () => {
  it('needs email_verified after the upgrade, and has no issuer until its next sign-in', async () => {
    const fixture = await WebFixture.start();
    const knex = knexOf(fixture.testDatabase.database);
    const uris = {
      auth_uri: 'https://a.example',
      token_uri: 'https://a.example',
      jwks_uri: 'https://a.example',
    };
    const [row] = await knex('rowpost.oidc_providers')
      .insert({ name: 'old', ...uris })
      .returning<Record<string, unknown>[]>('*');
    expect(row).to.include({ email_always_verified: false, issuer: null, discovered_issuer: null });
    await fixture.stop();
  });
});
