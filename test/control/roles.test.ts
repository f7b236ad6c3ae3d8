import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, WebFixture, type Json } from '../api/webFixture.js';

const CREATE = `mutation ($input: roleInput) { create_role(input: $input) {
  roleid login name tenantid parentid classes { classid } capabilities deleted creatorid createtime password_createtime
  parent { roleid login } tenant { tenantid name } children { roleid } } }`;
const UPDATE =
  'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { roleid login capabilities parentid deleted } }';
const DELETE = 'mutation ($id: ID!) { delete_role(roleid: $id) { roleid deleted } }';

describe('roles_pbac: role', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let otherRoot: string;
  let otherTenant: CreatedTenant;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    otherTenant = await fixture.createTenant('other');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    otherRoot = (await fixture.signIn(otherTenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const member = (
    login: string,
    capabilities: readonly string[],
    maker = root,
  ): Promise<{ roleid: number; token: string }> =>
    fixture.createMember(maker, login, ['login', ...capabilities]);

  it('is created below its creator, and returned identically by the mutation and the list', async () => {
    const made = await fixture.control(root, CREATE, {
      input: {
        login: 'clerk',
        name: 'A clerk',
        password: 'secret of the clerk',
        capabilities: ['login', 'select'],
      },
    });
    expect(made.errors).to.equal(undefined);
    const created = at(made, 'data.create_role') as Json;
    expect(created).to.deep.include({
      login: 'clerk',
      name: 'A clerk',
      tenantid: tenant.tenantid,
      parentid: tenant.rootRoleid,
      classes: [],
      capabilities: ['login', 'select'],
      deleted: false,
      creatorid: tenant.rootRoleid,
      parent: { roleid: String(tenant.rootRoleid), login: 'root' },
      tenant: { tenantid: String(tenant.tenantid), name: 'shop' },
      children: [],
    });
    expect(created['roleid']).to.be.a('string');
    expect(created['createtime']).to.match(/^\d{4}-\d\d-\d\dT/);
    const listed = await fixture.control(
      root,
      `query ($filter: String) { role(filter: $filter) {
        roleid login name tenantid parentid classes { classid } capabilities deleted creatorid createtime password_createtime
        parent { roleid login } tenant { tenantid name } children { roleid } } }`,
      { filter: "login = 'clerk'" },
    );
    expect(listed.data).to.deep.equal({ role: [created] });
  });

  it('lists by filter, ordering, limit and offset, with aliases and nested lists', async () => {
    await member('lister', ['select']);
    const { data, errors } = await fixture.control(
      root,
      `{ top: role(filter: "login = 'root'") { id: roleid below: children(ordering: "roleid", limit: 1) { login } }
         second: role(ordering: "roleid", limit: 1, offset: 1) { login } }`,
    );
    expect(errors).to.equal(undefined);
    expect(data).to.deep.equal({
      top: [{ id: String(tenant.rootRoleid), below: [{ login: 'clerk' }] }],
      second: [{ login: 'clerk' }],
    });
  });

  it('never shows a password or its hash', async () => {
    for (const field of ['password', 'password_hash']) {
      expect(codeOf(await fixture.control(root, `{ role { ${field} } }`))).to.equal('GRAPHQL_VALIDATION');
      expect(codeOf(await fixture.control(root, `{ role(filter: "${field} != null") { roleid } }`))).to.equal(
        'FILTER_UNKNOWN_COLUMN',
      );
      expect(codeOf(await fixture.control(root, `{ role(ordering: "${field}") { roleid } }`))).to.equal(
        'ORDERING_INVALID',
      );
    }
  });

  it('requires the capability, and grants nothing the creator lacks', async () => {
    const plain = await member('plain', ['select']);
    expect(codeOf(await fixture.control(plain.token, CREATE, { input: { login: 'x' } }))).to.equal(
      'PERMISSION_DENIED',
    );
    const maker = await member('maker', ['create_role', 'select']);
    const try_ = async (input: Json): Promise<string | undefined> =>
      codeOf(
        await fixture.control(maker.token, CREATE, { input: { login: `made ${Math.random()}`, ...input } }),
      );
    expect(await try_({ capabilities: ['select'] })).to.equal(undefined);
    expect(await try_({ capabilities: ['insert'] })).to.equal('PERMISSION_DENIED');
    expect(await try_({ capabilities: ['admin'] })).to.equal('PERMISSION_DENIED');
    expect(await try_({ capabilities: ['fly'] })).to.equal('UNKNOWN_CAPABILITY');
    expect(await try_({ classes: [1] })).to.equal('PERMISSION_DENIED');
    expect(await try_({ parentid: tenant.rootRoleid })).to.equal('PERMISSION_DENIED');
    expect(await try_({ parentid: 999_999 })).to.equal('UNKNOWN_ROLE');
    expect(await try_({ parentid: otherTenant.rootRoleid })).to.equal('UNKNOWN_ROLE');
    expect(await try_({ tenantid: otherTenant.tenantid })).to.equal('PERMISSION_DENIED');
    expect(await try_({ login: 'plain' })).to.equal('NAME_TAKEN');
    expect(await try_({ login: 'Nobody' })).to.equal('BAD_USER_INPUT');
    expect(await try_({ password: '' })).to.equal('BAD_USER_INPUT');
    expect(codeOf(await fixture.control(maker.token, CREATE))).to.equal('BAD_USER_INPUT');
  });

  it('sees only itself and its children, unless it holds view_role; never another tenant', async () => {
    const parent = await member('parent', ['create_role']);
    const child = await member('child', [], parent.token);
    const list = async (token: string): Promise<unknown> =>
      at(
        await fixture.control(token, '{ role(ordering: "roleid") { login parent { login } } }'),
        'data.role',
      );
    expect(await list(parent.token)).to.deep.equal([
      { login: 'parent', parent: null },
      { login: 'child', parent: { login: 'parent' } },
    ]);
    expect(await list(child.token)).to.deep.equal([{ login: 'child', parent: null }]);
    const viewer = await member('viewer', ['view_role']);
    const all = (await list(viewer.token)) as Json[];
    expect(all.map((role) => role['login'])).to.include.members(['root', 'parent', 'child', 'viewer']);
    expect(await list(otherRoot)).to.deep.equal([{ login: 'root', parent: null }]);
    const probe = await fixture.control(otherRoot, `{ role(filter: "parent.login = 'parent'") { login } }`);
    expect(probe.data).to.deep.equal({ role: [] });
  });

  it('is updated by roles above it, and by itself only in name, login and password', async () => {
    const boss = await member('boss', ['create_role', 'update_role', 'delete_role', 'select']);
    const worker = await member('worker', ['select'], boss.token);
    const update = async (token: string, id: string | number, input: Json): Promise<string | undefined> =>
      codeOf(await fixture.control(token, UPDATE, { id, input }));
    expect(await update(boss.token, worker.roleid, { name: 'Renamed', capabilities: ['login'] })).to.equal(
      undefined,
    );
    expect(await update(worker.token, worker.roleid, { name: 'Me', login: 'worker 2' })).to.equal(undefined);
    expect(await update(worker.token, worker.roleid, { capabilities: ['admin'] })).to.equal(
      'PERMISSION_DENIED',
    );
    expect(await update(worker.token, worker.roleid, { parentid: tenant.rootRoleid })).to.equal(
      'PERMISSION_DENIED',
    );
    expect(await update(worker.token, boss.roleid, { name: 'x' })).to.equal('PERMISSION_DENIED');
    expect(await update(boss.token, boss.roleid, { capabilities: ['login', 'admin'] })).to.be.oneOf([
      'PERMISSION_DENIED',
      'NOT_FOUND',
    ]);
    expect(await update(boss.token, tenant.rootRoleid, { password: 'taken over' })).to.equal(
      'PERMISSION_DENIED',
    );
    expect(await update(otherRoot, worker.roleid, { password: 'taken over' })).to.equal('NOT_FOUND');
    expect(await update(root, boss.roleid, { parentid: worker.roleid })).to.equal('BAD_USER_INPUT');
    // Who sets a role's password can act as it: so it must hold no more than who sets it.
    await fixture.control(root, UPDATE, { id: worker.roleid, input: { capabilities: ['login', 'insert'] } });
    expect(await update(boss.token, worker.roleid, { password: 'borrowed' })).to.equal('PERMISSION_DENIED');
    const admin = await member('deputy', ['admin']);
    expect(await update(admin.token, tenant.rootRoleid, { password: 'taken over' })).to.equal(
      'PERMISSION_DENIED',
    );
  });

  it('is soft-deleted, and frees its login', async () => {
    const leaver = await member('leaver', []);
    const deleted = await fixture.control(root, DELETE, { id: leaver.roleid });
    expect(deleted.data).to.deep.equal({ delete_role: { roleid: String(leaver.roleid), deleted: true } });
    await member('leaver', []);
    expect(codeOf(await fixture.control(root, DELETE, { id: tenant.rootRoleid }))).to.equal(
      'PERMISSION_DENIED',
    );
    expect(codeOf(await fixture.control(root, DELETE, { id: '999999' }))).to.equal('NOT_FOUND');
    expect(codeOf(await fixture.control(root, DELETE, { id: 'x' }))).to.equal('NOT_FOUND');
  });

  it('names the login that another role has, whichever way a role gets it', async () => {
    await member('Ada', []);
    const restored = await member('bob', []);
    await fixture.control(root, DELETE, { id: String(restored.roleid) });
    await member('Bob', []);
    const other = await member('carol', []);
    const ways: readonly (readonly [string, string, Json])[] = [
      ['create_role', CREATE, { input: { login: 'ada' } }],
      ['update_role (login)', UPDATE, { id: String(other.roleid), input: { login: 'ADA' } }],
      ['update_role (deleted)', UPDATE, { id: String(restored.roleid), input: { deleted: false } }],
      [
        'update_role (deleted and login)',
        UPDATE,
        { id: String(restored.roleid), input: { deleted: false, login: 'Carol' } },
      ],
    ];
    const named = ['ada', 'ADA', 'bob', 'Carol'];
    for (const [index, [way, mutation, variables]] of ways.entries()) {
      const { errors } = await fixture.control(root, mutation, variables);
      expect(errors?.[0], way).to.deep.include({
        message: `Another role of the tenant has the login "${named[index]}", or one like it.`,
      });
      expect(errors?.[0]?.extensions, way).to.include({ code: 'NAME_TAKEN', field: 'login' });
    }
    const renamed = await fixture.control(root, UPDATE, {
      id: String(restored.roleid),
      input: { deleted: false, login: 'bob the second' },
    });
    expect(at(renamed, 'data.update_role.deleted')).to.equal(false);
  });

  it('applies a request atomically, and stops at the first error', async () => {
    const result = await fixture.control(
      root,
      `mutation { a: create_role(input: { login: "all" }) { roleid }
         b: create_role(input: { login: "all" }) { roleid }
         c: create_role(input: { login: "after" }) { roleid } }`,
    );
    expect(result.data).to.equal(null);
    expect(result.errors).to.have.length(1);
    expect(result.errors?.[0]).to.deep.include({ path: ['b'] });
    expect(codeOf(result)).to.equal('NAME_TAKEN');
    const { data } = await fixture.control(root, `{ role(filter: "login in ('all', 'after')") { login } }`);
    expect(data).to.deep.equal({ role: [] });
  });

  it('may read from replicas when allowed', async () => {
    const { roleid } = await member('reporter', ['select']);
    const setting = async (mutation: string): Promise<unknown> =>
      at(
        await fixture.control(root, `mutation { role: ${mutation} { read_replica } }`),
        'data.role.read_replica',
      );
    const readsReplica = async (id: number): Promise<boolean | undefined> =>
      (await fixture.principals.reload(tenant.tenantid, id))?.readsReplica;
    expect(await readsReplica(roleid)).to.equal(false);
    expect(await setting(`update_role(roleid: ${roleid}, input: {read_replica: true})`)).to.equal(true);
    expect(await readsReplica(roleid)).to.equal(true);
    expect(await setting(`update_role(roleid: ${roleid}, input: {name: "R"})`)).to.equal(true);
    expect(await setting('create_role(input: {read_replica: true})')).to.equal(true);
  });
});
