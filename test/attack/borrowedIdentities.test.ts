import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { startMisbehaving, type MisbehavingFixture } from '../api/oidc/support/misbehavingFixture.js';
import { at, textAt, type AuthBody, type GraphqlResult, type Json } from '../api/webFixture.js';

const PROVISION =
  'mutation ($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid } }';
const MAP = 'mutation ($input: role_oidcInput) { create_role_oidc(input: $input) { roleid } }';

/**
 * Sign-ins that find their role by the identity alone. Whoever decides which role that is has others sign in as a role of their own,
 * which then gets the classes of the other's groups.
 */
describe("attack: others' identities and addresses for a role of one's own", () => {
  let started: MisbehavingFixture;
  let confid: number;
  let parentid: number;
  let bosses: number;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const control = (
    query: string,
    variables: Json = {},
    token = started.fixture.root,
  ): Promise<GraphqlResult> => started.fixture.web.control(token, query, variables);
  const codeOf = async (result: Promise<GraphqlResult>): Promise<unknown> =>
    (await result).errors?.[0]?.extensions.code;
  const signIn = async (person: JWTPayload): Promise<AuthBody & { readonly code?: string }> => {
    started.provider.misbehavior = { claims: person };
    return started.signIn(confid);
  };
  const classesOf = async (roleid: number): Promise<unknown> =>
    at(
      await control(`{ Utility { role_rights(roleid: ${roleid}) { classes } } }`),
      'data.Utility.role_rights.classes',
    );
  const member = (
    name: string,
    parent: number,
    capabilities = ['login', 'select', 'create_role', 'update_role'],
  ) => started.fixture.web.createMember(started.fixture.root, `${name}${confid}`, capabilities, parent);

  beforeEach(async () => {
    const { fixture, provider } = started;
    confid = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
    );
    ({ roleid: parentid } = await member('parent', fixture.tenant.rootRoleid));
    const made = await control(
      `mutation { create_role_class(input: { name: "bosses ${confid}", members: [${parentid}] }) { classid } }`,
    );
    bosses = Number(textAt(made, 'data.create_role_class.classid'));
  });
  const provision = async (more: Json = {}): Promise<void> => {
    const input = { confid, parentid, groups_claim: 'groups', ...more };
    expect(await codeOf(control(PROVISION, { input }))).to.equal(undefined);
    const group = `mutation { create_oidc_group_class(input: { confid: ${confid}, group_name: "bosses", classid: ${bosses} }) { classid } }`;
    expect(await codeOf(control(group))).to.equal(undefined);
  };
  const BOSS = { sub: 'boss', groups: ['bosses'], email_verified: true };

  it('do not make it the role of somebody else, whether mapped to itself or to a role below it', async () => {
    const eve = await member('eve', parentid);
    const child = await member('child', eve.roleid, ['login']);
    for (const { roleid } of [eve, child]) {
      const input = { roleid, confid, sub_id: 'boss' };
      expect(await codeOf(control(MAP, { input }, eve.token))).to.equal(undefined);
    }
    expect(await signIn(BOSS), 'while sign-ins make no roles').to.include({ code: 'OIDC_ROLE_NOT_MAPPED' });
    await provision();
    const boss = await signIn(BOSS);
    expect(boss.roleid).to.be.a('number').that.is.not.oneOf([eve.roleid, child.roleid]);
    expect([await classesOf(boss.roleid), await classesOf(eve.roleid)]).to.deep.equal([[bosses], []]);
  });

  it('are mapped by root and admins alone where sign-ins make roles', async () => {
    await provision({ seats: 2 });
    const eve = await member('eve', parentid);
    const child = await member('child', eve.roleid, ['login']);
    for (const { roleid } of [eve, child]) {
      const input = { roleid, confid, sub_id: 'boss' };
      expect(await codeOf(control(MAP, { input }, eve.token))).to.equal('PERMISSION_DENIED');
    }
    const first = await signIn({ sub: 'eve' });
    for (const change of [
      `update_role_oidc(roleid: ${first.roleid}, confid: ${confid}, input: { sub_id: "boss" })`,
      `delete_role_oidc(roleid: ${first.roleid}, confid: ${confid})`,
    ]) {
      const changed = control(`mutation { ${change} { roleid } }`, {}, first.access_token);
      expect(await codeOf(changed), change).to.equal('PERMISSION_DENIED');
    }
    expect((await signIn({ sub: 'eve' })).roleid, 'not a second role').to.equal(first.roleid);
    const admin = await member('admin', started.fixture.tenant.rootRoleid, ['login', 'admin']);
    const input = { roleid: child.roleid, confid, sub_id: 'boss' };
    expect(await codeOf(control(MAP, { input }, admin.token))).to.equal(undefined);
    expect((await signIn(BOSS)).roleid).to.equal(child.roleid);
  });

  it('are no login of a role unless root or an admin gave it', async () => {
    await provision({ link_by_email: true });
    const { fixture } = started;
    const eve = await member('eve', parentid);
    const child = await member('child', eve.roleid, ['login']);
    const rename = async (roleid: number, login: string, token: string): Promise<void> => {
      const query = `mutation { update_role(roleid: ${roleid}, input: { login: "${login}" }) { login } }`;
      expect(await codeOf(control(query, {}, token)), login).to.equal(undefined);
    };
    const isEves = async (sub: string, email: string): Promise<boolean> => {
      const { roleid } = await signIn({ ...BOSS, sub, email });
      expect(roleid).to.be.a('number');
      return [eve.roleid, child.roleid].includes(roleid);
    };
    const address = (name: string): string => `${name}${confid}@example.com`;
    await rename(eve.roleid, address('own'), eve.token);
    expect(await isEves('1', address('own')), 'its own choice').to.equal(false);
    await rename(child.roleid, address('child'), eve.token);
    expect(await isEves('2', address('child')), "a parent's choice").to.equal(false);
    const created = await control(
      `mutation { create_role(input: { login: "${address('new')}", capabilities: ["login"] }) { roleid } }`,
      {},
      eve.token,
    );
    const made = Number(textAt(created, 'data.create_role.roleid'));
    const { roleid: linked } = await signIn({ ...BOSS, sub: '3', email: address('new') });
    expect(linked, 'of a role that a parent made').to.be.a('number').that.is.not.equal(made);
    await rename(eve.roleid, address('fullwidth'), fixture.root);
    expect(await isEves('4', address('ｆullwidth')), 'an address like it').to.equal(false);
    // As a release before the column `admin_login` changes it.
    const { pool } = fixture.web.testDatabase.database;
    await pool.query('update rowpost.role set login = $2 where roleid = $1', [eve.roleid, address('old')]);
    expect(await isEves('5', address('old')), 'changed by an older release').to.equal(false);
    await rename(eve.roleid, address('Given'), fixture.root);
    expect(await isEves('6', address('gIVEN')), 'given by root').to.equal(true);
  });
});
