import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { at, codeOf, textAt, PXADMIN_PASSWORD, WebFixture, type Json } from '../../api/webFixture.js';

const ALL_OF_ROLES = ['login', 'select', 'create_role', 'update_role', 'delete_role'];
const ALL_OF_CLASSES = ['create_class', 'update_class', 'delete_class', 'view_class'];

describe('attack: a role gains read access by acting for another role', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let names = 0;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'bank',
      `create table vault (id int primary key); insert into vault values (1);
       create table lobby (id int primary key); insert into lobby values (1)`,
    );
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await rule({ targets: ['lobby'] });
  });
  after(() => fixture.stop());

  interface Member {
    readonly roleid: number;
    readonly token: string;
  }

  const name = (): string => `n${(names += 1)}`;
  const member = (capabilities: readonly string[], parentid: number = tenant.rootRoleid): Promise<Member> =>
    fixture.createMember(root, name(), capabilities, parentid);

  /** A rule for reading, and the principals of the process as they are with it. */
  async function rule(values: Json): Promise<number> {
    const input = { name: name(), capabilities: ['select'], ...values };
    const made = await fixture.control(
      root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      { input },
    );
    fixture.principals.forget(tenant.tenantid);
    return Number(textAt(made, 'data.create_policy_rule.ruleid'));
  }
  async function newClass(values: Json): Promise<number> {
    const made = await fixture.control(
      root,
      'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }',
      { input: { name: name(), ...values } },
    );
    fixture.principals.forget(tenant.tenantid);
    return Number(textAt(made, 'data.create_role_class.classid'));
  }
  const change = async (token: string, mutation: string, variables: Json = {}): Promise<string | undefined> =>
    codeOf(await fixture.control(token, mutation, variables));
  const tokenOf = async (token: string, roleid: number): Promise<string | undefined> =>
    codeOf(await fixture.control(token, `{ Utility { role_token(roleid: ${roleid}) } }`));
  const updateRole = (token: string, id: number, input: Json): Promise<string | undefined> =>
    change(
      token,
      'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }',
      { id, input },
    );
  const updateClass = (token: string, id: number, input: Json): Promise<string | undefined> =>
    change(
      token,
      'mutation ($id: ID!, $input: role_classInput) { update_role_class(classid: $id, input: $input) { classid } }',
      { id, input },
    );
  const readsVault = async ({ token }: Member): Promise<boolean> => {
    fixture.principals.forget(tenant.tenantid);
    return at(await fixture.graphql('/query', token, '{ vault { id } }'), 'data.vault.0.id') === '1';
  };

  it('with a token or any change of a child that a rule names', async () => {
    const parent = await member(ALL_OF_ROLES);
    const child = await member(['login', 'select'], parent.roleid);
    expect(await tokenOf(parent.token, child.roleid)).to.equal(undefined);
    await rule({ targets: ['vault'], roles: [child.roleid] });
    expect([await readsVault(parent), await readsVault(child)]).to.deep.equal([false, true]);
    expect(await tokenOf(parent.token, child.roleid)).to.equal('PERMISSION_DENIED');
    for (const input of [
      { password: 'a word of the parent' },
      { login: name() },
      { capabilities: ['login'] },
      { classes: [] },
      { parentid: parent.roleid },
      { deleted: true },
    ]) {
      const code = await updateRole(parent.token, child.roleid, input);
      expect(code, JSON.stringify(input)).to.equal('PERMISSION_DENIED');
    }
    for (const mutation of [
      `delete_role(roleid: ${child.roleid}) { roleid }`,
      `create_role(input: { parentid: ${child.roleid} }) { roleid }`,
    ]) {
      expect(await change(parent.token, `mutation { ${mutation} }`), mutation).to.equal('PERMISSION_DENIED');
    }
    // The tenant's root and its admins reach everything anyway.
    expect(await tokenOf(root, child.roleid)).to.equal(undefined);
    const admin = await member(['admin']);
    expect(await updateRole(admin.token, child.roleid, { password: 'a word of the admin' })).to.equal(
      undefined,
    );
  });

  it('but may when the same rules apply to it', async () => {
    const parent = await member(ALL_OF_ROLES);
    const child = await member(['login', 'select'], parent.roleid);
    await rule({ targets: ['vault'], roles: [child.roleid, parent.roleid] });
    expect(await tokenOf(parent.token, child.roleid)).to.equal(undefined);
    expect(await updateRole(parent.token, child.roleid, { password: 'a word of the parent' })).to.equal(
      undefined,
    );
  });

  it('with an identity at a provider', async () => {
    const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const uris = Object.fromEntries(
      ['auth', 'token', 'jwks'].map((part) => [`${part}_uri`, `https://login.example.com/${part}`]),
    );
    const provider = await fixture.control(
      pxadmin,
      'mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) { providerid } }',
      { input: { name: name(), ...uris } },
    );
    const config = await fixture.control(
      root,
      'mutation ($input: oidc_configInput) { create_oidc_config(input: $input) { confid } }',
      {
        input: {
          providerid: Number(textAt(provider, 'data.create_oidc_providers.providerid')),
          client_id: 'bank',
          client_secret: 'secret',
        },
      },
    );
    const confid = textAt(config, 'data.create_oidc_config.confid');
    const parent = await member(ALL_OF_ROLES);
    const child = await member(['login', 'select'], parent.roleid);
    const map = async (): Promise<string | undefined> =>
      codeOf(
        await fixture.control(
          parent.token,
          'mutation ($input: role_oidcInput) { create_role_oidc(input: $input) { sub_id } }',
          { input: { roleid: String(child.roleid), confid, sub_id: 'me' } },
        ),
      );
    await rule({ targets: ['vault'], roles: [child.roleid] });
    expect(await map()).to.equal('PERMISSION_DENIED');
  });

  it('through a class named by a rule, by assigning it to roles with more permissions', async () => {
    const keeper = await member([...ALL_OF_ROLES, ...ALL_OF_CLASSES]);
    const child = await member(['login', 'select'], keeper.roleid);
    const stranger = await member(['login', 'select']);
    const classid = await newClass({ members: [keeper.roleid, child.roleid] });
    await rule({ targets: ['vault'], roles: [child.roleid] });
    expect(await updateClass(keeper.token, classid, { members: [keeper.roleid] })).to.equal(
      'PERMISSION_DENIED',
    );
    // A class of others is theirs: its members' trees would gain by the keeper's word, or lose.
    const other = await member([...ALL_OF_ROLES, ...ALL_OF_CLASSES]);
    const shared = await newClass({ members: [other.roleid, stranger.roleid] });
    for (const inherit of ['full', 'creation']) {
      expect(await updateClass(other.token, shared, { inherit }), inherit).to.equal('NOT_FOUND');
    }
    expect(
      await change(other.token, `mutation { delete_role_class(classid: ${shared}) { classid } }`),
    ).to.equal('NOT_FOUND');
  });

  it('through an intermediate role whose changes its descendants inherit', async () => {
    const top = await member([...ALL_OF_ROLES, ...ALL_OF_CLASSES]);
    const middle = await member(['login', 'select'], top.roleid);
    const low = await member(['login', 'select'], middle.roleid);
    const other = await member(['login'], top.roleid);
    const classid = await newClass({ inherit: 'full', members: [top.roleid] });
    await rule({ targets: ['vault'], roles: [low.roleid] });
    expect(await updateRole(top.token, middle.roleid, { classes: [classid] })).to.equal('PERMISSION_DENIED');
    expect(await updateRole(top.token, middle.roleid, { parentid: other.roleid })).to.equal(
      'PERMISSION_DENIED',
    );
    expect(await updateClass(top.token, classid, { inherit: 'none' })).to.equal('PERMISSION_DENIED');
    // The role between holds no more than the one above, and is still its own to act for.
    expect(await tokenOf(top.token, middle.roleid)).to.equal(undefined);
    expect(await tokenOf(top.token, low.roleid)).to.equal('PERMISSION_DENIED');
  });

  it('through a class of the child alone, while one that it inherits from the caller is shared', async () => {
    const parent = await member(ALL_OF_ROLES);
    const child = await member(['login', 'select'], parent.roleid);
    const classid = await newClass({ inherit: 'full', members: [parent.roleid] });
    await rule({ targets: ['vault'], classes: [classid] });
    expect(await readsVault(child)).to.equal(true);
    expect(await tokenOf(parent.token, child.roleid)).to.equal(undefined);
    const inner = await newClass({ inherit: 'none', members: [child.roleid] });
    expect(await tokenOf(parent.token, child.roleid), `class ${inner}`).to.equal('PERMISSION_DENIED');
  });

  it('not through changes that reach roles below a deleted one', async () => {
    const boss = await member([...ALL_OF_ROLES, ...ALL_OF_CLASSES]);
    const child = await member(['login'], boss.roleid);
    const deleted = await member(['login'], child.roleid);
    const below = await member(['login', 'select'], deleted.roleid);
    await rule({ targets: ['vault'], roles: [below.roleid] });
    const held = await newClass({ inherit: 'none', members: [boss.roleid, deleted.roleid] });
    const removed = await change(root, `mutation { delete_role(roleid: ${deleted.roleid}) { roleid } }`);
    expect(removed).to.equal(undefined);
    const made = await change(
      boss.token,
      `mutation { create_role_class(input: {name: "${name()}", inherit: "full", members: [${child.roleid}]}) { classid } }`,
    );
    expect(made).to.equal('PERMISSION_DENIED');
    expect(await updateRole(boss.token, child.roleid, { classes: [held] })).to.equal('PERMISSION_DENIED');
    expect(await updateClass(boss.token, held, { inherit: 'full' })).to.equal('PERMISSION_DENIED');
    expect(await change(boss.token, `mutation { delete_role_class(classid: ${held}) { classid } }`)).to.equal(
      'PERMISSION_DENIED',
    );
  });
});
