import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, textAt, WebFixture, type GraphqlResult } from '../api/webFixture.js';

describe('contract 4: role.classes is [role_class], role_class.members is [role]; ids in input', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let classid: number;
  let ada: { roleid: number; token: string };
  let bob: { roleid: number; token: string };

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    const other = await fixture.createTenant('other');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    ada = await fixture.createMember(root, 'ada', ['login']);
    bob = await fixture.createMember(root, 'bob', ['login', 'view_role']);
    const made = await fixture.control(
      root,
      `mutation ($input: role_classInput) { create_role_class(input: $input) {
        classid tenantid members { roleid login classes { name } } } }`,
      { input: { name: 'staff', members: [ada.roleid, String(bob.roleid)] } },
    );
    expect(made.errors).to.equal(undefined);
    classid = Number(textAt(made, 'data.create_role_class.classid'));
    expect(at(made, 'data.create_role_class.members')).to.deep.equal([
      { roleid: String(ada.roleid), login: 'ada', classes: [{ name: 'staff' }] },
      { roleid: String(bob.roleid), login: 'bob', classes: [{ name: 'staff' }] },
    ]);
    // The same numbers mean other objects elsewhere.
    const otherRoot = (await fixture.signIn(other.tenantid)).access_token;
    await fixture.control(otherRoot, 'mutation { create_role_class(input: {name: "theirs"}) { classid } }');
    await fixture.createMember(otherRoot, 'eve', ['login']);
  });
  after(() => fixture.stop());

  const ask = (token: string, query: string): Promise<GraphqlResult> => fixture.control(token, query);

  it('are shown by lists, with list arguments, at any depth', async () => {
    const { data, errors } = await ask(
      root,
      `{ role(filter: "login = 'ada'") { classes { classid name inherit allow_signup members(ordering: "login desc", limit: 1) { login } } }
         role_class { name members(filter: "login = 'ada'") { roleid classes { classid } } } }`,
    );
    expect(errors).to.equal(undefined);
    expect(data).to.deep.equal({
      role: [
        {
          classes: [
            {
              classid: String(classid),
              name: 'staff',
              inherit: 'none',
              allow_signup: false,
              members: [{ login: 'bob' }],
            },
          ],
        },
      ],
      role_class: [
        { name: 'staff', members: [{ roleid: String(ada.roleid), classes: [{ classid: String(classid) }] }] },
      ],
    });
  });

  it('a role accepts class ids, and returns the classes', async () => {
    const { data, errors } = await fixture.control(
      root,
      `mutation ($input: roleInput) { create_role(input: $input) { classes(limit: 5) { classid name } } }`,
      { input: { login: 'cleo', classes: [classid] } },
    );
    expect(errors).to.equal(undefined);
    expect(data).to.deep.equal({ create_role: { classes: [{ classid: String(classid), name: 'staff' }] } });
  });

  it('can be filtered through', async () => {
    const { data } = await ask(
      root,
      `{ role(filter: "classes.name = 'staff' and login like 'a%'") { login }
         role_class(filter: "members.login = 'bob'") { name } }`,
    );
    expect(data).to.deep.equal({ role: [{ login: 'ada' }], role_class: [{ name: 'staff' }] });
  });

  it('are hidden from roles that may not see them', async () => {
    // ada holds neither view_role nor view_class: of roles she sees herself, of classes her own.
    const seen = await ask(ada.token, '{ role { login classes { name members { login } } } }');
    expect(seen.data).to.deep.equal({
      role: [{ login: 'ada', classes: [{ name: 'staff', members: [{ login: 'ada' }] }] }],
    });
    const guessed = await ask(ada.token, `{ role_class(filter: "members.roleid = ${bob.roleid}") { name } }`);
    expect(guessed.data).to.deep.equal({ role_class: [] });
    // bob sees all roles, and of their classes those that he is in.
    await ask(
      root,
      `mutation { create_role_class(input: {name: "board", members: [${ada.roleid}]}) { classid } }`,
    );
    const rolesOnly = await ask(bob.token, `{ role(filter: "login = 'ada'") { classes { name } } }`);
    expect(rolesOnly.data).to.deep.equal({ role: [{ classes: [{ name: 'staff' }] }] });
    // After a mutation as well.
    const changed = await ask(
      ada.token,
      `mutation { update_role(roleid: ${ada.roleid}, input: {name: "Ada"}) { classes { name members { login } } } }`,
    );
    expect(at(changed, 'data.update_role.classes')).to.deep.equal([
      { name: 'staff', members: [{ login: 'ada' }] },
      { name: 'board', members: [{ login: 'ada' }] },
    ]);
  });

  it('a deleted role is no member, and keeps its classes', async () => {
    const gone = await fixture.createMember(root, 'gone', []);
    await ask(
      root,
      `mutation { update_role(roleid: ${gone.roleid}, input: {classes: [${classid}]}) { roleid } }`,
    );
    await ask(root, `mutation { delete_role(roleid: ${gone.roleid}) { roleid } }`);
    const { data } = await ask(
      root,
      `{ role(filter: "login = 'gone'") { deleted classes { name } }
         role_class(filter: "name = 'staff'") { members(filter: "login = 'gone'") { login } } }`,
    );
    expect(data).to.deep.equal({
      role: [{ deleted: true, classes: [{ name: 'staff' }] }],
      role_class: [{ members: [] }],
    });
  });
});
