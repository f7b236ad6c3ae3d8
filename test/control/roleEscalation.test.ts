import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const CREATE = 'mutation ($input: roleInput) { create_role(input: $input) { roleid } }';
const UPDATE =
  'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid } }';
const TOKEN = 'query ($id: Int!) { Utility { role_token(roleid: $id) } }';
const WHOLE_TREE = `{ role { login } }`;

describe('roles_pbac: privilege escalation through other roles', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const member = (
    login: string,
    capabilities: readonly string[],
    parentid?: number,
  ): Promise<{ roleid: number; token: string }> =>
    fixture.createMember(root, login, ['login', ...capabilities], parentid);
  const tokenOf = async (asker: string, id: number): Promise<string | undefined> =>
    codeOf(await fixture.control(asker, TOKEN, { id }));
  const update = (asker: string, id: number, input: Json): Promise<GraphqlResult> =>
    fixture.control(asker, UPDATE, { id, input });

  it('no token of a child with more permissions', async () => {
    const plain = await member('plain', ['create_role']);
    const admin = await member('admin below', ['admin'], plain.roleid);
    const reader = await member('reader below', ['select'], plain.roleid);
    const equal = await member('equal below', [], plain.roleid);
    expect(await tokenOf(plain.token, admin.roleid)).to.equal('PERMISSION_DENIED');
    expect(await tokenOf(plain.token, reader.roleid)).to.equal('PERMISSION_DENIED');
    expect(await tokenOf(plain.token, equal.roleid)).to.equal(undefined);
    expect(await tokenOf(root, admin.roleid)).to.equal(undefined);
  });

  it('no class of a child, direct or inherited', async () => {
    const boss = await member('boss', ['create_role', 'update_role']);
    const between = await member('between', [], boss.roleid);
    const below = await member('below', [], between.roleid);
    const given = await fixture.control(
      root,
      'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }',
      { input: { name: 'insiders', inherit: 'full', members: [between.roleid] } },
    );
    expect(given.errors).to.equal(undefined);
    expect(await tokenOf(boss.token, between.roleid)).to.equal('PERMISSION_DENIED');
    expect(codeOf(await update(boss.token, below.roleid, { password: 'borrowed' }))).to.equal(
      'PERMISSION_DENIED',
    );
    const inside = { login: 'inside', parentid: between.roleid };
    expect(codeOf(await fixture.control(boss.token, CREATE, { input: inside }))).to.equal(
      'PERMISSION_DENIED',
    );
  });

  it('nothing of another anonymous client, nor of the role that all of them share', async () => {
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const client = textAt(
      await (await fixture.postJson('/anonauth', { tenantid: tenant.tenantid })).json(),
      'access_token',
    );
    const own = await fixture.control(root, `{ role(filter: "login = 'Nobody'") { roleid } }`);
    const nobody = Number(textAt(own, 'data.role.0.roleid'));
    const made = await fixture.control(client, CREATE, { input: { login: 'a client' } });
    const roleid = Number(textAt(made, 'data.create_role.roleid'));
    expect(await tokenOf(client, roleid)).to.equal('PERMISSION_DENIED');
    const below = { login: 'a squatter', parentid: roleid };
    expect(codeOf(await fixture.control(client, CREATE, { input: below }))).to.equal('PERMISSION_DENIED');
    // Also when the root has given anonymous clients more than they begin with.
    await update(root, nobody, { capabilities: ['create_role', 'update_role', 'delete_role', 'view_role'] });
    expect(codeOf(await update(client, roleid, { password: 'taken over' }))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await update(client, nobody, { name: 'mine' }))).to.equal('PERMISSION_DENIED');
    const remove = await fixture.control(
      client,
      'mutation ($id: ID!) { delete_role(roleid: $id) { roleid } }',
      {
        id: roleid,
      },
    );
    expect(codeOf(remove)).to.equal('PERMISSION_DENIED');
  });

  it('no view of the tree through a mutation', async () => {
    const clerk = await member('clerk', ['create_role']);
    await fixture.createMember(clerk.token, 'clerk below', []);
    const changed = await fixture.control(
      clerk.token,
      `mutation ($id: ID!) { update_role(roleid: $id, input: { name: "Me" }) {
        name parent { login children { login } } children { login parent { login } } } }`,
      { id: clerk.roleid },
    );
    expect(changed.errors).to.equal(undefined);
    expect(at(changed, 'data.update_role')).to.deep.equal({
      name: 'Me',
      parent: null,
      children: [{ login: 'clerk below', parent: { login: 'clerk' } }],
    });
    const page = await fixture.control(
      root,
      'mutation ($id: ID!) { update_role(roleid: $id, input: { name: "Root" }) { children(limit: 1, offset: 1) { roleid } } }',
      { id: tenant.rootRoleid },
    );
    expect(at(page, 'data.update_role.children')).to.have.length(1);
    const filtered = await fixture.control(
      root,
      `mutation ($id: ID!) { update_role(roleid: $id, input: { name: "Root" }) { children(filter: "login = 'x'") { roleid } } }`,
      { id: tenant.rootRoleid },
    );
    expect(codeOf(filtered)).to.equal('BAD_USER_INPUT');
  });

  it('no token from before a role was deleted and restored', async () => {
    const leaver = await member('leaver', []);
    expect((await fixture.control(leaver.token, WHOLE_TREE)).errors).to.equal(undefined);
    expect((await update(root, leaver.roleid, { deleted: true })).errors).to.equal(undefined);
    expect((await update(root, leaver.roleid, { deleted: false })).errors).to.equal(undefined);
    expect(((await fixture.control(leaver.token, WHOLE_TREE)) as Json)['code']).to.equal('TOKEN_REVOKED');
    expect(await tokenOf(root, leaver.roleid)).to.equal(undefined);
  });

  it('no passwords with NUL', async () => {
    const input = { login: 'nul', password: 'a\u0000b' };
    expect(codeOf(await fixture.control(root, CREATE, { input }))).to.equal('BAD_USER_INPUT');
  });
});
