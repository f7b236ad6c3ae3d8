import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, textAt, WebFixture } from '../api/webFixture.js';

const CREATE = `mutation ($input: role_classInput) { create_role_class(input: $input) {
  classid name tenantid inherit members { roleid } creatorid } }`;
const UPDATE = `mutation ($id: ID!, $input: role_classInput) {
  update_role_class(classid: $id, input: $input) { classid name inherit members { roleid } } }`;
const DELETE = 'mutation ($id: ID!) { delete_role_class(classid: $id) { classid members { roleid } } }';
const CLASSES = 'query ($filter: String) { role(filter: $filter) { classes { classid } } }';

describe('roles_pbac: role_class', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let otherRoot: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'shop',
      'create table note (id int primary key); insert into note values (1)',
    );
    const other = await fixture.createTenant('other');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    otherRoot = (await fixture.signIn(other.tenantid)).access_token;
  });
  after(() => fixture.stop());

  async function newClass(input: object, token = root): Promise<number> {
    return Number(textAt(await fixture.control(token, CREATE, { input }), 'data.create_role_class.classid'));
  }

  async function classesOf(roleid: number): Promise<unknown> {
    const { data } = await fixture.control(root, CLASSES, { filter: `roleid = ${roleid}` });
    return (at(data, 'role.0.classes') as { classid: string }[]).map(({ classid }) => Number(classid));
  }

  /** Lets members of the class read notes. */
  async function grant(classid: number): Promise<void> {
    const made = await fixture.control(
      root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      {
        input: { name: `notes ${classid}`, capabilities: ['select'], targets: ['note'], classes: [classid] },
      },
    );
    expect(made.errors).to.equal(undefined);
  }

  async function readsNotes(token: string): Promise<boolean> {
    // The class may have changed in this second, and principals are remembered for so long.
    fixture.principals.forget(tenant.tenantid);
    const { data } = await fixture.graphql('/query', token, '{ note { id } }');
    return JSON.stringify(data) === '{"note":[{"id":"1"}]}';
  }

  it('is created with members, listed, updated and deleted', async () => {
    const { roleid } = await fixture.createMember(root, 'ada', ['login']);
    const made = await fixture.control(root, CREATE, { input: { name: 'staff', members: [String(roleid)] } });
    expect(made.errors).to.equal(undefined);
    expect(at(made, 'data.create_role_class')).to.deep.include({
      name: 'staff',
      tenantid: tenant.tenantid,
      inherit: 'none',
      members: [{ roleid: String(roleid) }],
      creatorid: tenant.rootRoleid,
    });
    const id = Number(textAt(made, 'data.create_role_class.classid'));
    expect(await classesOf(roleid)).to.deep.equal([id]);
    const listed = await fixture.control(
      root,
      `{ role_class(filter: "name = 'staff'") { classid members { roleid } } }`,
    );
    expect(listed.data).to.deep.equal({
      role_class: [{ classid: String(id), members: [{ roleid: String(roleid) }] }],
    });
    const changed = await fixture.control(root, UPDATE, { id, input: { name: 'crew', members: [] } });
    expect(at(changed, 'data.update_role_class')).to.deep.include({
      name: 'crew',
      inherit: 'none',
      members: [],
    });
    expect(await classesOf(roleid)).to.deep.equal([]);
    await fixture.control(root, UPDATE, { id, input: { members: [roleid] } });
    expect(at(await fixture.control(root, DELETE, { id }), 'data.delete_role_class.members')).to.deep.equal([
      { roleid: String(roleid) },
    ]);
    expect(await classesOf(roleid)).to.deep.equal([]);
  });

  it('with inherit none applies to its members only', async () => {
    const head = await fixture.createMember(root, 'head none', ['login', 'select', 'create_role']);
    const id = await newClass({ name: 'none', members: [head.roleid] });
    await grant(id);
    const below = await fixture.createMember(head.token, 'below none', ['login', 'select']);
    expect(await readsNotes(head.token)).to.equal(true);
    expect(await readsNotes(below.token)).to.equal(false);
  });

  it('with inherit creation is copied to new roles below a member, for good', async () => {
    const head = await fixture.createMember(root, 'head creation', ['login', 'select', 'create_role']);
    const early = await fixture.createMember(head.token, 'early', ['login', 'select']);
    const id = await newClass({ name: 'creation', inherit: 'creation', members: [head.roleid] });
    await grant(id);
    const late = await fixture.createMember(head.token, 'late', ['login', 'select']);
    expect(await classesOf(early.roleid)).to.deep.equal([]);
    expect(await classesOf(late.roleid)).to.deep.equal([id]);
    await fixture.control(root, UPDATE, { id, input: { members: [late.roleid] } });
    // The token that it had is no longer good: the role now has more than who got it.
    const got = await fixture.control(root, `{ Utility { role_token(roleid: ${late.roleid}) } }`);
    expect(await readsNotes(textAt(got, 'data.Utility.role_token'))).to.equal(true);
    expect(await readsNotes(early.token)).to.equal(false);
  });

  it('with inherit full applies to all roles below a member, while it is one', async () => {
    const head = await fixture.createMember(root, 'head full', ['login', 'select', 'create_role']);
    const middle = await fixture.createMember(head.token, 'middle', ['login', 'select', 'create_role']);
    const low = await fixture.createMember(middle.token, 'low', ['login', 'select']);
    const aside = await fixture.createMember(root, 'aside', ['login', 'select']);
    const id = await newClass({ name: 'full', inherit: 'full', members: [head.roleid] });
    await grant(id);
    expect(await classesOf(low.roleid)).to.deep.equal([]);
    expect(await readsNotes(low.token)).to.equal(true);
    expect(await readsNotes(aside.token)).to.equal(false);
    await fixture.control(root, UPDATE, { id, input: { members: [] } });
    expect(await readsNotes(low.token)).to.equal(false);
  });

  it('requires the class capabilities, and roles that the caller may change', async () => {
    const plain = await fixture.createMember(root, 'plain', ['login', 'create_role']);
    const keeper = await fixture.createMember(root, 'keeper', [
      'login',
      'create_role',
      'create_class',
      'update_class',
      'delete_class',
      'view_class',
    ]);
    const below = await fixture.createMember(keeper.token, 'kept', ['login']);
    expect(codeOf(await fixture.control(plain.token, CREATE, { input: { name: 'x' } }))).to.equal(
      'PERMISSION_DENIED',
    );
    expect(
      codeOf(await fixture.control(keeper.token, CREATE, { input: { name: 'x', members: [plain.roleid] } })),
    ).to.equal('NOT_FOUND');
    const own = await newClass({ name: 'kept class', members: [below.roleid] }, keeper.token);
    expect(
      (await fixture.control(keeper.token, UPDATE, { id: own, input: { name: 'renamed' } })).errors,
    ).to.equal(undefined);
    // Rules may name the class by now: who is not in it can't hand it on, nor put it upon others.
    for (const input of [{ members: [] }, { inherit: 'full' }]) {
      expect(codeOf(await fixture.control(keeper.token, UPDATE, { id: own, input }))).to.equal(
        'PERMISSION_DENIED',
      );
    }
    expect(codeOf(await fixture.control(keeper.token, DELETE, { id: own }))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await fixture.control(otherRoot, DELETE, { id: own }))).to.equal('NOT_FOUND');
    const seen = await fixture.control(plain.token, '{ role_class { classid } }');
    expect(seen.data).to.deep.equal({ role_class: [] });
  });

  it("can't be deleted while rules name it: the rule would apply to every role", async () => {
    const id = await newClass({ name: 'named' });
    await grant(id);
    expect(codeOf(await fixture.control(root, DELETE, { id }))).to.equal('ROLE_CLASS_IN_USE');
  });

  it('rejects invalid input', async () => {
    expect(codeOf(await fixture.control(root, CREATE, { input: {} }))).to.equal('BAD_USER_INPUT');
    for (const input of [{ inherit: 'all' }, { members: ['x'] }, { members: ['999999'] }, { tenantid: 0 }]) {
      const result = await fixture.control(root, CREATE, { input: { name: 'odd', ...input } });
      expect(codeOf(result), JSON.stringify(input)).to.match(/BAD_USER_INPUT|UNKNOWN_ROLE|PERMISSION_DENIED/);
    }
    const role = await fixture.control(
      root,
      'mutation { create_role(input: {login: "classy", classes: [424242]}) { roleid } }',
    );
    expect(codeOf(role)).to.equal('BAD_USER_INPUT');
  });
});
