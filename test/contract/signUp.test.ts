import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult } from '../api/webFixture.js';

const CREATE = `mutation ($input: roleInput) { create_role(input: $input) {
  roleid parentid capabilities classes { classid name } } }`;

describe('contract 4: self-registration (docs/how-to/sign-up.md)', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let client: string;
  let nobody: number;
  let customers: number;
  let staff: number;

  before(async () => {
    // More attempts than an anonymous client has in a minute.
    fixture = await WebFixture.start({
      env: {
        ANONYMOUS_REQUESTS_PER_MINUTE: '0',
        ANONYMOUS_REQUESTS_PER_ADDRESS: '0',
        ANONYMOUS_ROWS_PER_MINUTE: '0',
        ANONYMOUS_ROLES_PER_MINUTE: '0',
        ANONYMOUS_ROLES_PER_ADDRESS: '0',
      },
    });
    tenant = await fixture.createTenant(
      'shop',
      `create table note (id int primary key, owner int);
       insert into note values (1, 0)`,
    );
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    staff = await newClass({ name: 'staff' });
    nobody = Number(
      textAt(
        await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }'),
        'data.Utility.anonymous_logins',
      ),
    );
    const signedIn = await fixture.postJson('/anonauth', { tenantid: tenant.tenantid });
    client = textAt(await signedIn.json(), 'access_token');
  });
  after(() => fixture.stop());

  async function newClass(input: object): Promise<number> {
    const made = await fixture.control(
      root,
      'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }',
      { input },
    );
    return Number(textAt(made, 'data.create_role_class.classid'));
  }

  const signUp = (input: object): Promise<GraphqlResult> => fixture.control(client, CREATE, { input });

  it('is disabled until a class allows it', async () => {
    const login = { login: 'early', password: 'clients choose', capabilities: ['login'] };
    expect(codeOf(await signUp(login))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await signUp({ login: 'early', password: 'clients choose', classes: [staff] }))).to.equal(
      'PERMISSION_DENIED',
    );
    // As ever an anonymous client may make a role; nobody signs in with it.
    const made = await signUp({ login: 'silent', password: 'clients choose' });
    expect(at(made, 'data.create_role.capabilities')).to.deep.equal([]);
    const response = await fixture.postJson('/auth', {
      tenantid: tenant.tenantid,
      login: 'silent',
      password: 'clients choose',
    });
    expect(response.status).to.equal(403);
  });

  it('creates a role that can sign in, with the permissions of the class', async () => {
    customers = await newClass({ name: 'customers', allow_signup: true });
    await fixture.control(
      root,
      `mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }`,
      {
        input: {
          name: 'own notes',
          capabilities: ['select', 'insert'],
          targets: ['note'],
          classes: [customers],
          filter: 'owner = $_PRINCIPAL.roleid',
        },
      },
    );
    const made = await signUp({
      login: 'ada@example.com',
      password: 'correct horse',
      capabilities: ['login', 'select', 'insert'],
      classes: [customers],
    });
    expect(made.errors).to.equal(undefined);
    const roleid = Number(textAt(made, 'data.create_role.roleid'));
    expect(at(made, 'data.create_role')).to.deep.equal({
      roleid: String(roleid),
      parentid: nobody,
      capabilities: ['login', 'select', 'insert'],
      // Those who sign up do not see classes, not even those that they may name.
      classes: [],
    });
    const { access_token } = await fixture.signIn(tenant.tenantid, 'ada@example.com', 'correct horse');
    const written = await fixture.graphql(
      '/query',
      access_token,
      `mutation { create_note(input: {id: 2, owner: ${roleid}}) { id } }`,
    );
    expect(written.errors).to.equal(undefined);
    const read = await fixture.graphql('/query', access_token, '{ note { id } }');
    expect(read.data).to.deep.equal({ note: [{ id: '2' }] });
    const classes = await fixture.control(access_token, '{ role_class { name members { login } } }');
    expect(classes.data).to.deep.equal({
      role_class: [{ name: 'customers', members: [{ login: 'ada@example.com' }] }],
    });
    // `login` alone when no capabilities are asked for.
    const plain = await signUp({ login: 'bob@example.com', password: 'correct horse' });
    expect(at(plain, 'data.create_role.capabilities')).to.deep.equal(['login']);
  });

  it('grants no more than was allowed', async () => {
    const login = 'mallory';
    const password = 'correct horse';
    const attempts: [object, string][] = [
      [{ classes: [staff] }, 'PERMISSION_DENIED'],
      [{ classes: [customers, staff] }, 'PERMISSION_DENIED'],
      [{ classes: [999_999] }, 'PERMISSION_DENIED'],
      [{ classes: [null] }, 'BAD_USER_INPUT'],
      [{ capabilities: ['login', 'admin'] }, 'PERMISSION_DENIED'],
      [{ capabilities: ['login', 'create_role'] }, 'PERMISSION_DENIED'],
      [{ capabilities: ['login', 'view_role'] }, 'PERMISSION_DENIED'],
      [{ capabilities: ['login', 'update_role'] }, 'PERMISSION_DENIED'],
      [{ capabilities: ['login', 'no such thing'] }, 'PERMISSION_DENIED'],
      [{ parentid: tenant.rootRoleid }, 'PERMISSION_DENIED'],
      [{ tenantid: 0 }, 'PERMISSION_DENIED'],
      [{ tenantid: tenant.tenantid + 1 }, 'PERMISSION_DENIED'],
      [{ name: 'x'.repeat(201) }, 'BAD_USER_INPUT'],
      [{ deleted: true }, 'BAD_USER_INPUT'],
    ];
    for (const [input, code] of attempts) {
      expect(codeOf(await signUp({ login, password, ...input })), JSON.stringify(input)).to.equal(code);
    }
    const made = await fixture.control(root, `{ role(filter: "login = 'mallory'") { roleid } }`);
    expect(made.data).to.deep.equal({ role: [] });
  });

  it("rejects logins that resemble another's, at sign-up and later", async () => {
    const reserved = [
      'Nobody',
      'nobody',
      'NOBODY',
      'ｎobody',
      ' Nobody',
      'No\u200bbody',
      'pxadmin',
      'PxAdmin',
      'admin',
    ];
    for (const login of [...reserved, 'x'.repeat(321), '', 'a\nb']) {
      expect(codeOf(await signUp({ login, password: 'correct horse' })), login).to.equal('BAD_USER_INPUT');
    }
    for (const login of ['Ada@Example.com', 'SILENT']) {
      expect(codeOf(await signUp({ login, password: 'correct horse' })), login).to.equal('NAME_TAKEN');
    }
    const { access_token, roleid } = await fixture.signIn(
      tenant.tenantid,
      'ada@example.com',
      'correct horse',
    );
    const rename = (login: string): Promise<GraphqlResult> =>
      fixture.control(
        access_token,
        'mutation ($id: ID!, $input: roleInput) { update_role(roleid: $id, input: $input) { login } }',
        { id: roleid, input: { login } },
      );
    expect(codeOf(await rename('nobody '))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await rename('Bob@example.com'))).to.equal('NAME_TAKEN');
    expect((await rename('Ada@example.com')).errors).to.equal(undefined);
    expect((await rename('ada@example.com')).errors).to.equal(undefined);
  });

  it('is enabled by administrators only', async () => {
    const clerk = await fixture.createMember(root, 'clerk', ['login', 'create_class', 'update_class']);
    const create = (input: object): Promise<GraphqlResult> =>
      fixture.control(
        clerk.token,
        'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }',
        { input },
      );
    expect(codeOf(await create({ name: 'open', allow_signup: true }))).to.equal('PERMISSION_DENIED');
    expect((await create({ name: 'closed' })).errors).to.equal(undefined);
    const update = await fixture.control(
      clerk.token,
      'mutation ($id: ID!) { update_role_class(classid: $id, input: {allow_signup: false}) { classid } }',
      { id: customers },
    );
    expect(codeOf(update)).to.equal('PERMISSION_DENIED');
  });

  it("a role that signed up can't reach other roles", async () => {
    const { access_token } = await fixture.signIn(tenant.tenantid, 'ada@example.com', 'correct horse');
    const bob = textAt(
      await fixture.control(root, `{ role(filter: "login = 'bob@example.com'") { roleid } }`),
      'data.role.0.roleid',
    );
    const attempts = [
      `mutation { create_role(input: {login: "below"}) { roleid } }`,
      `mutation { update_role(roleid: ${bob}, input: {password: "taken over"}) { roleid } }`,
      `mutation { update_role(roleid: ${nobody}, input: {name: "x"}) { roleid } }`,
      `mutation { delete_role(roleid: ${bob}) { roleid } }`,
      `{ Utility { role_token(roleid: ${bob}) } }`,
    ];
    for (const attempt of attempts) {
      expect(codeOf(await fixture.control(access_token, attempt)), attempt).to.be.oneOf([
        'PERMISSION_DENIED',
        'NOT_FOUND',
      ]);
    }
    expect((await fixture.control(access_token, '{ role { login } }')).data).to.deep.equal({
      role: [{ login: 'ada@example.com' }],
    });
  });

  it('ends when the class disallows it or anonymous logins are disabled', async () => {
    const close =
      'mutation ($id: ID!) { update_role_class(classid: $id, input: {allow_signup: false}) { allow_signup } }';
    const closed = await fixture.control(root, close, { id: customers });
    expect(at(closed, 'data.update_role_class.allow_signup')).to.equal(false);
    const late = { login: 'late', password: 'correct horse', capabilities: ['login'] };
    expect(codeOf(await signUp(late))).to.equal('PERMISSION_DENIED');
    await fixture.control(root, '{ Utility { anonymous_logins(enable: false) } }');
    expect(((await signUp(late)) as { code?: string }).code).to.equal('TOKEN_REVOKED');
    // Who has signed up stays.
    await fixture.signIn(tenant.tenantid, 'ada@example.com', 'correct horse');
  });
});
