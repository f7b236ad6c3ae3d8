import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { at, codeOf, textAt, type AuthBody, type GraphqlResult, type Json } from '../../api/webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from '../../api/oidc/support/misbehavingFixture.js';
import type { FailureBody } from '../../api/oidc/support/oidcFixture.js';
import { generator, testSeed } from '../../support/randomNumbers.js';

const CREATE =
  'mutation ($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid } }';
type Body = AuthBody & Partial<FailureBody>;

describe('attack: an identity provider whose claims make roles', () => {
  let started: MisbehavingFixture;
  let confid: number;
  let parentid: number;
  let staff: number;
  before(async () => {
    started = await startMisbehaving({ env: { SIGN_INS_PER_ADDRESS: '100000' } });
  });
  after(() => started.stop());

  const control = (query: string, variables: Json = {}): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query, variables);
  const provision = (input: Json): Promise<GraphqlResult> =>
    control(CREATE, { input: { confid, parentid, ...input } });
  const signIn = async (person: JWTPayload, payload?: (json: string) => string): Promise<Body> => {
    started.provider.misbehavior = { claims: person, ...(payload && { payload }) };
    return signInNext();
  };
  const signInNext = async (): Promise<Body> =>
    (await (await started.fixture.signIn(undefined, confid)).json()) as Body;
  const rolesMade = async (): Promise<
    readonly { roleid: number; sub_id: string; deleted: boolean; classes: number[] }[]
  > =>
    (
      await started.fixture.web.testDatabase.database.pool.query<never>(
        `select roleid, sub_id, deleted, classes from rowpost.role_oidc join rowpost.role using (roleid) where confid = ${confid}`,
      )
    ).rows;
  const createConfig = async (more: Json = {}): Promise<number> => {
    const { fixture, provider } = started;
    const providerid = await fixture.createProvider({
      ...provider.endpoints,
      issuer: provider.issuer,
      ...more,
    });
    return fixture.createConfig(providerid);
  };

  beforeEach(async () => {
    started.provider.misbehavior = {};
    confid = await createConfig();
    const name = `of ${confid}`;
    parentid = (await started.fixture.web.createMember(started.fixture.root, name, ['login', 'select']))
      .roleid;
    const query = 'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }';
    const made = await control(query, { input: { name: `staff ${name}`, members: [parentid] } });
    staff = Number(textAt(made, 'data.create_role_class.classid'));
    await control(
      'mutation ($input: oidc_group_classInput) { create_oidc_group_class(input: $input) { classid } }',
      { input: { confid, group_name: 'staff', classid: staff } },
    );
  });

  const deep = (open: string, close: string, levels: number) => (json: string) =>
    json.replace(/\}$/, `,"groups":${open.repeat(levels)}"staff"${close.repeat(levels)}}`);

  it('a claim of 50,000 levels refuses the sign-in, and one of 40 gives no class', async () => {
    await provision({ groups_claim: 'groups', name: '{{ claims.sub }}' });
    for (const payload of [deep('[', ']', 50_000), deep('{"groups":', '}', 10_000)])
      expect((await signIn({ sub: 'ada' }, payload)).code).to.equal('OIDC_ID_TOKEN_INVALID');
    expect(await rolesMade()).to.deep.equal([]);
    await signIn({ sub: 'ada' }, deep('[', ']', 40));
    expect((await rolesMade()).map(({ classes }) => classes)).to.deep.equal([[]]);
  });

  it('claims of 190 kB are read, and larger responses are not', async () => {
    await provision({ groups_claim: 'groups', name: '{{ claims.name }}' });
    const groups = Array.from({ length: 9_000 }, (_, index) => `a group ${index}`);
    const { roleid } = await signIn({ sub: 'ada', groups: [...groups, 'staff'], name: 'A'.repeat(20_000) });
    expect((await rolesMade())[0]).to.deep.include({ roleid, classes: [staff] });
    const { data } = await control(`{ role(filter: "roleid = ${roleid}") { name } }`);
    expect(at(data, 'role.0.name')).to.equal('A'.repeat(200));
    const larger = await signIn({ sub: 'eve', groups, name: 'A'.repeat(300_000) });
    expect(larger.code).to.equal('OIDC_PROVIDER_ERROR');
  });

  it('what a claim says is no template, and templates over claims find nothing but claims', async () => {
    const name = '{{ claims.name }}{{ claims.__proto__ }}{{ claims.constructor }}{{ config }}{{ process }}';
    await provision({ name });
    const evil = '{{ 7 * 7 }}{% for i in range(9) %}x{% endfor %}';
    const { roleid } = await signIn({ sub: 'ada', name: evil });
    const { data } = await control(`{ role(filter: "roleid = ${roleid}") { name } }`);
    expect(at(data, 'role.0.name')).to.equal(evil);
  });

  it('templates that take too long refuse the sign-in', async () => {
    for (const name of [
      '{% for i in range(100000) %}{% for j in range(100000) %}{{ claims.sub }}{% endfor %}{% endfor %}',
      '{{ (claims.sub * 100000000) | length }}',
    ]) {
      await provision({ name });
      expect((await signIn({ sub: 'ada' })).code, name).to.equal('OIDC_NOT_ADMITTED');
      await control(`mutation { delete_oidc_provisioning(confid: ${confid}) { confid } }`);
    }
    expect(await rolesMade()).to.deep.equal([]);
  });

  it('a path of 100,000 names holds nobody up', async () => {
    for (const field of ['groups_claim', 'required_claim'] as const) {
      const input = { required_value: 'x', required_claim: 'sub', [field]: 'a.'.repeat(100_000) };
      expect(codeOf(await provision(input)), field).to.equal('BAD_USER_INPUT');
    }
  });

  it('an address that the provider does not vouch for is nobody', async () => {
    confid = await createConfig({ comparison_field: 'email' });
    await provision({ link_by_email: true });
    const email = `root@${confid}.example`;
    await started.fixture.web.createMember(started.fixture.root, email, ['login'], parentid);
    for (const email_verified of [undefined, false, 'true', 1, null, ['true'], {}]) {
      const body = await signIn({ sub: 'eve', email, email_verified });
      expect(body.code, JSON.stringify(email_verified)).to.equal('OIDC_IDENTITY_MISMATCH');
    }
    expect(await rolesMade()).to.deep.equal([]);
  });

  it('another sub with the address of somebody is somebody else', async () => {
    await provision({ link_by_email: true, login: '{{ claims.email }}' });
    const person = { email: `ada@${confid}.example`, email_verified: true };
    const { roleid } = await signIn({ ...person, sub: 'ada' });
    // Her address, reused by the company for another person, or her sub, changed by it.
    expect((await signIn({ ...person, sub: 'ada 2' })).code).to.equal('OIDC_NOT_ADMITTED');
    await control(`mutation { delete_role(roleid: ${roleid}) { roleid } }`);
    const reused = await signIn({ ...person, sub: 'ada 2' });
    expect(reused.roleid).not.to.equal(roleid);
    expect((await signIn({ ...person, sub: 'ada' })).code).to.equal('OIDC_ROLE_NOT_MAPPED');
    expect((await signIn({ ...person, sub: 'Ada 2' })).code).to.equal('OIDC_NOT_ADMITTED');
  });

  it('a role of a suspended tenant is neither made nor changed', async () => {
    await provision({ groups_claim: 'groups' });
    await signIn({ sub: 'ada', groups: ['staff'] });
    const before = await rolesMade();
    const suspend = (suspended: boolean): Promise<GraphqlResult> =>
      started.fixture.web.control(
        started.fixture.pxadmin,
        `mutation { update_tenant(tenantid: ${started.fixture.tenant.tenantid}, input: { suspended: ${suspended} }) { tenantid } }`,
      );
    expect((await suspend(true)).errors).to.equal(undefined);
    try {
      expect((await signIn({ sub: 'ada', groups: [] })).code).to.equal('TENANT_SUSPENDED');
      expect((await signIn({ sub: 'eve' })).code).to.equal('TENANT_SUSPENDED');
      expect(await rolesMade()).to.deep.equal(before);
    } finally {
      await suspend(false);
    }
  });

  it('a race between sign-ins, deletions and changes of settings leaves one role for a person, with her classes or fewer', async () => {
    const random = generator(testSeed());
    await provision({ groups_claim: 'groups', seats: 6 });
    const people = Array.from({ length: 8 }, (_, index) => `person ${index}`);
    started.provider.misbehavior = {
      nextPerson: () => ({ sub: people[random(people.length)]!, groups: random(2) === 0 ? ['staff'] : [] }),
    };
    const codes = new Map<string, number>();
    const deletedBefore = new Set<number>();
    const signIns = Array.from({ length: 60 }, async (_, index) => {
      if (index % 12 === 5) {
        const roles = (await rolesMade()).filter(({ deleted }) => !deleted);
        const role = roles[random(roles.length)];
        if (role) {
          await control(`mutation { delete_role(roleid: ${role.roleid}) { roleid } }`);
          deletedBefore.add(role.roleid);
        }
      }
      if (index % 20 === 7)
        await control(
          `mutation { update_oidc_provisioning(confid: ${confid}, input: { seats: ${4 + random(4)} }) { confid } }`,
        );
      const begun = new Set(deletedBefore);
      const body = await signInNext();
      codes.set(body.code ?? 'signed in', (codes.get(body.code ?? 'signed in') ?? 0) + 1);
      if (body.code === undefined) expect(begun.has(body.roleid), 'a deleted role signed in').to.equal(false);
    });
    await Promise.all(signIns);
    expect([...codes.keys()]).to.include('signed in');
    for (const code of codes.keys())
      expect(code).to.be.oneOf([
        'signed in',
        'OIDC_NOT_ADMITTED',
        'OIDC_ROLE_NOT_MAPPED',
        'OIDC_STATE_INVALID',
      ]);
    const made = await rolesMade();
    expect(new Set(made.map(({ sub_id }) => sub_id)).size, 'one for each').to.equal(made.length);
    expect(made.filter(({ deleted }) => !deleted).length).to.be.at.most(7);
    for (const { classes } of made) expect(classes.filter((classid) => classid !== staff)).to.deep.equal([]);
    // Deleted ones stay deleted, whoever signs in.
    expect(made.filter(({ deleted }) => deleted)).to.have.length(deletedBefore.size);
  });
});
