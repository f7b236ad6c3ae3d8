import { expect } from 'chai';
import { buildSchema } from 'graphql';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, textAt, WebFixture, type Json } from '../api/webFixture.js';

describe('contract 1 and 4: shapes of /auth and /roles_pbac', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  it('`routes.base` ends in a slash, and the others begin with it', async () => {
    const { routes } = (await fixture.signIn(tenant.tenantid)) as unknown as {
      routes: Record<string, string>;
    };
    expect(routes['base']).to.match(/[^/]\/$/);
    expect(routes['query']).to.equal(`${routes['base']}query`);
    expect(routes['roles_pbac']).to.equal(`${routes['base']}roles_pbac`);
  });

  for (const path of ['/query', '/roles_pbac'] as const) {
    it(`\`Utility { introspect }\` of ${path} returns {gql, json: {__schema}} of the tables as they are`, async () => {
      const name = path === '/query' ? 'one' : 'two';
      const client = await fixture.testDatabase.database.pool.connect();
      await client.query(`create table ${tenant.schema}.${name} (id int primary key)`);
      client.release();
      const { data, errors } = await fixture.graphql(path, root, '{ Utility { introspect } }');
      expect(errors).to.equal(undefined);
      const response = at(data, 'Utility.introspect') as { gql: string; json: Json };
      expect(Object.keys(response)).to.deep.equal(['gql', 'json']);
      expect(Object.keys(buildSchema(response.gql).getQueryType()!.getFields())).to.include(name);
      const types = at(response.json, '__schema.types') as { name: string }[];
      expect(types.map((type) => type.name)).to.include(name);
      // It is what signing in shows.
      const { schema } = (await fixture.signIn(tenant.tenantid)) as unknown as { schema: Json };
      expect(response).to.deep.equal(schema);
    });
  }

  it("`anonymous_logins` returns the Nobody role's id when it is on, else null", async () => {
    const ask = async (args = ''): Promise<unknown> =>
      at(
        await fixture.control(root, `{ Utility { anonymous_logins${args} } }`),
        'data.Utility.anonymous_logins',
      );
    expect(await ask()).to.equal(null);
    const roleid = await ask('(enable: true)');
    expect(await ask()).to.equal(roleid);
    const nobody = await fixture.control(root, `{ role(filter: "login = 'Nobody'") { roleid } }`);
    expect(String(roleid)).to.equal(textAt(nobody, 'data.role.0.roleid'));
    expect(await ask('(enable: false)')).to.equal(null);
    expect(await ask()).to.equal(null);
  });

  it(`capability(filter: "subset = 'crud'") returns exactly select, insert, update, delete`, async () => {
    const { data } = await fixture.control(root, `{ capability(filter: "subset = 'crud'") { capability } }`);
    const names = (at(data, 'capability') as Json[]).map((row) => row['capability']);
    expect(names.sort()).to.deep.equal(['delete', 'insert', 'select', 'update']);
  });

  it('`role.password_setby` is the role that set the password', async () => {
    const show = async (roleid: string): Promise<unknown> =>
      at(
        await fixture.control(root, `{ role(filter: "roleid = ${roleid}") { password_setby } }`),
        'data.role.0.password_setby',
      );
    const made = await fixture.control(
      root,
      'mutation { create_role(input: {login: "ada", password: "first one"}) { roleid password_setby } }',
    );
    const roleid = textAt(made, 'data.create_role.roleid');
    expect(at(made, 'data.create_role.password_setby')).to.equal(tenant.rootRoleid);
    expect(await show(roleid)).to.equal(tenant.rootRoleid);
    const { access_token } = await fixture.signIn(tenant.tenantid, 'ada', 'first one');
    const changed = await fixture.control(
      access_token,
      `mutation { update_role(roleid: ${roleid}, input: {password: "a password of her own"}) { password_setby } }`,
    );
    expect(at(changed, 'data.update_role.password_setby')).to.equal(Number(roleid));
    expect(await show(roleid)).to.equal(Number(roleid));
    const { roleid: without } = await fixture.createMember(root, 'without', []);
    expect(await show(String(without))).to.equal(null);
  });

  it("`policy_rule.tenantid` is shown, filterable, and accepted if it is the caller's own", async () => {
    const create = (tenantid: number) =>
      fixture.control(
        root,
        'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { tenantid } }',
        { input: { name: 'r', capabilities: ['select'], targets: ['customer'], tenantid } },
      );
    expect((await create(tenant.tenantid)).data).to.deep.equal({
      create_policy_rule: { tenantid: tenant.tenantid },
    });
    expect((await create(tenant.tenantid + 1)).errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
    const listed = await fixture.control(
      root,
      `{ policy_rule(filter: "tenantid = ${tenant.tenantid}") { name tenantid } }`,
    );
    expect(listed.data).to.deep.equal({ policy_rule: [{ name: 'r', tenantid: tenant.tenantid }] });
  });
});
