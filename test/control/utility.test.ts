import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

describe('roles_pbac: Utility', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  it('introspects, including tables created a moment ago', async () => {
    await runTenantSql(fixture.testDatabase.database, {
      tenantid: tenant.tenantid,
      sql: 'create table parcel (id int primary key)',
    });
    const introspected = await fixture.control(root, '{ Utility { introspect } }');
    expect(textAt(introspected, 'data.Utility.introspect.gql')).to.contain('type parcel {');
    expect((await fixture.graphql('/query', root, '{ parcel { id } }')).data).to.deep.equal({ parcel: [] });
    const tables = await fixture.control(root, '{ Utility { available_schemas_and_tables } }');
    expect(at(tables, 'data.Utility.available_schemas_and_tables')).to.deep.equal({
      [tenant.schema]: ['customer', 'parcel'],
    });
  });

  it('reads a field by its name, whatever field its alias is the name of', async () => {
    const swapped = await fixture.control(
      root,
      `{ Utility {
        tables(name: "customer") { columns { name: nullable, nullable: name } }
        role_rights(roleid: ${tenant.rootRoleid}) { classes: rules, capabilities: classes }
        template_names { functions: tests, tests: functions }
        anonymous_logins
      } }`,
    );
    const { tables, role_rights, template_names } = at(swapped, 'data.Utility') as Json;
    expect(tables).to.deep.equal([{ columns: [{ name: false, nullable: 'id' }] }]);
    expect(role_rights).to.deep.equal({ classes: [], capabilities: [] });
    expect(at(template_names, 'functions')).to.include('defined');
    expect(at(template_names, 'tests')).to.include('range');
  });

  it('issues tokens for children, and to root for every role of the tenant', async () => {
    const parent = await fixture.createMember(root, 'parent', ['create_role']);
    const child = await fixture.createMember(parent.token, 'child', []);
    const grandchild = await fixture.createMember(root, 'grandchild', [], child.roleid);
    const ask = (token: string, roleid: number): Promise<GraphqlResult> =>
      fixture.control(token, 'query ($id: Int!) { Utility { role_token(roleid: $id) } }', { id: roleid });
    const token = textAt(await ask(parent.token, child.roleid), 'data.Utility.role_token');
    expect((await fixture.control(token, '{ role { login } }')).data).to.deep.equal({
      role: [{ login: 'child' }, { login: 'grandchild' }],
    });
    expect(codeOf(await ask(parent.token, grandchild.roleid))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await ask(parent.token, tenant.rootRoleid))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await ask(child.token, parent.roleid))).to.equal('PERMISSION_DENIED');
    const other = await fixture.createTenant('other');
    expect(codeOf(await ask(root, other.rootRoleid))).to.equal('NOT_FOUND');
  });

  it('lets anonymous clients in without a password while the root allows it', async () => {
    const visit = (): Promise<Response> =>
      fixture.postJson('/anonauth', { tenantid: String(tenant.tenantid) });
    const refused = await visit();
    expect([refused.status, ((await refused.json()) as Json)['code']]).to.deep.equal([
      403,
      'ANONYMOUS_LOGINS_DISABLED',
    ]);
    const unknown = await fixture.postJson('/anonauth', { tenantid: 999_999 });
    expect(((await unknown.json()) as Json)['code']).to.equal('ANONYMOUS_LOGINS_DISABLED');

    const switchTo = (token: string, enable: boolean): Promise<GraphqlResult> =>
      fixture.control(token, 'query ($enable: Boolean) { Utility { anonymous_logins(enable: $enable) } }', {
        enable,
      });
    const admin = await fixture.createMember(root, 'deputy', ['admin']);
    expect(codeOf(await switchTo(admin.token, true))).to.equal('PERMISSION_DENIED');
    expect(at(await switchTo(root, true), 'data.Utility.anonymous_logins')).to.be.a('number');
    const body = (await (await visit()).json()) as Json;
    expect(body['message']).to.equal('Logged in as Nobody.');
    const own = await fixture.control(
      textAt(body, 'access_token'),
      `{ role(filter: "login = 'Nobody'") { capabilities parentid } }`,
    );
    expect(own.data).to.deep.equal({
      role: [
        {
          capabilities: [
            'select',
            'insert',
            'update',
            'delete',
            'upload',
            'download',
            'create_role',
            'view_role',
          ],
          parentid: tenant.rootRoleid,
        },
      ],
    });
    const refresh = (): Promise<Response> =>
      fixture.fetch('/auth', { headers: { authorization: `Bearer ${textAt(body, 'refresh_token')}` } });
    expect((await refresh()).status).to.equal(200);
    const byPassword = await fixture.postJson('/auth', {
      tenantid: tenant.tenantid,
      login: 'Nobody',
      password: 'correct horse',
    });
    expect(byPassword.status).to.equal(401);

    expect((await switchTo(root, false)).data).to.deep.equal({ Utility: { anonymous_logins: null } });
    expect((await visit()).status).to.equal(403);
    const byToken = await fixture.control(textAt(body, 'access_token'), '{ role { login } }');
    expect((byToken as Json)['code']).to.equal('TOKEN_REVOKED');
    expect((await refresh()).status).to.equal(401);
    await switchTo(root, true);
    const back = await fixture.control(textAt(body, 'access_token'), '{ role(limit: 1) { login } }');
    expect(back.errors).to.equal(undefined);
    await switchTo(root, false);
  });

  it('changes nothing by GET', async () => {
    const query = new URLSearchParams({ query: '{ Utility { anonymous_logins(enable: true) } }' });
    const response = await fixture.fetch(`/roles_pbac?${query.toString()}`, {
      headers: { authorization: `Bearer ${root}` },
    });
    expect(codeOf((await response.json()) as GraphqlResult)).to.equal('METHOD_NOT_ALLOWED');
  });
});
