import { expect } from 'chai';
import { json } from '../api/oidc/support/misbehavingProvider.js';
import { startMisbehaving, type MisbehavingFixture } from '../api/oidc/support/misbehavingFixture.js';
import { type AuthBody, type Json } from '../api/webFixture.js';

/**
 * A provider may take seconds to say who somebody is, and always has a sign-in under way: one is when it is found out, and its keys or
 * the configuration are changed. A sign-in that says as which role ends with the sessions of that role.
 */
describe('attack: sign-ins under way through a provider that is changed meanwhile', () => {
  let started: MisbehavingFixture;
  let providerid: number;
  let confid: number;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const control = async (token: string, mutation: string): Promise<void> => {
    const { errors } = await started.fixture.web.control(token, `mutation { ${mutation} }`);
    expect(errors, mutation).to.equal(undefined);
  };
  const createProvider = (): Promise<number> => {
    const { fixture, provider } = started;
    return fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
  };
  /** @param change what happens while the provider has the code */
  const signIn = async (sub: string, change: () => Promise<void>): Promise<AuthBody & { code?: string }> => {
    started.provider.misbehavior = {
      claims: { sub },
      json(res, status, body) {
        const isToken = 'id_token' in (body as Json);
        void (isToken ? change() : Promise.resolve()).then(() => json(res, status, body));
      },
    };
    return started.signIn(confid);
  };
  const mappedTo = async (sub: string): Promise<number> => {
    const { pool } = started.fixture.web.testDatabase.database;
    return (await pool.query('select from rowpost.role_oidc where sub_id = $1', [sub])).rows.length;
  };

  beforeEach(async () => {
    providerid = await createProvider();
    confid = await started.fixture.createConfig(providerid);
  });

  const keys = (): Promise<void> =>
    control(
      started.fixture.pxadmin,
      `update_oidc_providers(providerid: ${providerid}, input: { jwks_uri: "${started.provider.issuer}/other" }) { name }`,
    );
  const configuration = async (): Promise<void> =>
    control(
      started.fixture.root,
      `update_oidc_config(confid: ${confid}, input: { providerid: ${await createProvider()} }) { confid }`,
    );
  const nothing = (): Promise<void> =>
    control(
      started.fixture.pxadmin,
      `update_oidc_providers(providerid: ${providerid}, input: { name: "renamed ${providerid}" }) { name }`,
    );
  const provision = (): Promise<void> =>
    control(
      started.fixture.root,
      `create_oidc_provisioning(input: { confid: ${confid}, parentid: ${started.fixture.tenant.rootRoleid} }) { confid }`,
    );

  it('sign nobody in who is mapped', async () => {
    const { roleid } = await started.fixture.web.createMember(started.fixture.root, `m${confid}`, ['login']);
    await started.fixture.map(roleid, confid, 'mapped');
    expect((await signIn('mapped', nothing)).roleid).to.equal(roleid);
    expect(await signIn('mapped', keys)).to.include({ code: 'OIDC_STATE_INVALID' });
  });

  for (const [what, change] of [
    ['its keys are changed', keys],
    ['the configuration is of another provider', configuration],
  ] as const) {
    it(`make no role, and map none, if ${what}`, async () => {
      await provision();
      expect(await signIn(`new ${what}`, change)).to.include({ code: 'OIDC_STATE_INVALID' });
      expect(await mappedTo(`new ${what}`)).to.equal(0);
    });
  }

  it('go on if nothing changes that says who somebody is', async () => {
    await provision();
    const { roleid } = await signIn('new', nothing);
    expect(roleid).to.be.a('number');
    expect((await signIn('new', nothing)).roleid).to.equal(roleid);
    expect(await signIn('new', keys)).to.include({ code: 'OIDC_STATE_INVALID' });
  });
});
