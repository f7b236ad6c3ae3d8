import { expect } from 'chai';
import {
  at,
  codeOf,
  textAt,
  PXADMIN_PASSWORD,
  WebFixture,
  type GraphqlResult,
  type Json,
} from '../api/webFixture.js';

const CREATE =
  'mutation ($input: tenantInput) { create_tenant(input: $input) { tenantid name schema root_roleid createtime } }';

describe('roles_pbac: tenant', () => {
  let fixture: WebFixture;
  let pxadmin: string;

  before(async () => {
    fixture = await WebFixture.start();
    pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
  });
  after(() => fixture.stop());

  const create = (token: string, input: Json): Promise<GraphqlResult> =>
    fixture.control(token, CREATE, { input });

  it('is created by pxadmin, with a root that signs in, a schema and a database role of its own', async () => {
    const made = await create(pxadmin, {
      name: 'Shop',
      root_login: 'owner',
      root_password: 'secret of the owner',
    });
    const tenantid = Number(textAt(made, 'data.create_tenant.tenantid'));
    expect(at(made, 'data.create_tenant.schema')).to.equal(`tenant_${tenantid}`);
    const body = await fixture.signIn(tenantid, 'owner', 'secret of the owner');
    expect(body.roleid).to.equal(at(made, 'data.create_tenant.root_roleid'));
    const { rows } = await fixture.testDatabase.database.pool.query<Json>(
      `select n.nspowner::regrole::text as owner, has_schema_privilege(n.nspowner, 'rowpost', 'usage') as control,
         has_function_privilege(n.nspowner, 'rowpost_tenant.capture_change(int, text, text, json, json, json)', 'execute') as capture,
         has_table_privilege(n.nspowner, 'rowpost_tenant.event', 'insert') as record, has_any_column_privilege(n.nspowner, 'rowpost_tenant.event', 'select') as events
       from pg_namespace n where nspname = $1`,
      [`tenant_${tenantid}`],
    );
    expect(rows).to.deep.equal([
      {
        owner: (await fixture.testDatabase.database.tenants.names()).tenant(tenantid),
        control: false,
        capture: true,
        record: true,
        events: false,
      },
    ]);
  });

  it('accepts a custom schema name, and refuses taken or reserved ones', async () => {
    const input = { root_login: 'owner', root_password: 'secret of the owner' };
    const made = await create(pxadmin, { ...input, name: 'Named', schema: 'Own_Schema' });
    expect(at(made, 'data.create_tenant.schema')).to.equal('Own_Schema');
    expect(codeOf(await create(pxadmin, { ...input, name: 'Named' }))).to.equal('NAME_TAKEN');
    expect(codeOf(await create(pxadmin, { ...input, name: 'x', schema: 'Own_Schema' }))).to.equal(
      'NAME_TAKEN',
    );
    for (const schema of ['rowpost', 'Rowpost_2', 'bullmq', 'pg_evil', 'public', 'a"b', 'x'.repeat(64), '']) {
      expect(codeOf(await create(pxadmin, { ...input, name: 'x', schema })), schema).to.equal(
        'BAD_USER_INPUT',
      );
    }
    expect(codeOf(await create(pxadmin, { name: 'x', root_login: 'owner' }))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await create(pxadmin, { ...input, name: '' }))).to.equal('BAD_USER_INPUT');
  });

  it("can't be created, changed or deleted by others, and each sees only its own", async () => {
    const { tenantid } = await fixture.createTenant('Plain');
    const root = (await fixture.signIn(tenantid)).access_token;
    expect(
      codeOf(await create(root, { name: 'x', root_login: 'a', root_password: 'correct horse' })),
    ).to.equal('PERMISSION_DENIED');
    const rename =
      'mutation ($id: ID!) { update_tenant(tenantid: $id, input: { name: "Renamed" }) { name } }';
    expect(codeOf(await fixture.control(root, rename, { id: tenantid }))).to.equal('PERMISSION_DENIED');
    const remove = 'mutation ($id: ID!) { delete_tenant(tenantid: $id) { name } }';
    expect(codeOf(await fixture.control(root, remove, { id: tenantid }))).to.equal('PERMISSION_DENIED');
    expect((await fixture.control(root, '{ tenant { name } }')).data).to.deep.equal({
      tenant: [{ name: 'Plain' }],
    });
    const all = at(await fixture.control(pxadmin, '{ tenant { name } }'), 'data.tenant') as Json[];
    expect(all.length).to.be.above(2);

    expect((await fixture.control(pxadmin, rename, { id: tenantid })).data).to.deep.equal({
      update_tenant: { name: 'Renamed' },
    });
    expect((await fixture.control(pxadmin, remove, { id: tenantid })).data).to.deep.equal({
      delete_tenant: { name: 'Renamed' },
    });
    const refused = await fixture.postJson(
      '/query',
      { query: '{ __typename }' },
      { authorization: `Bearer ${root}` },
    );
    expect(((await refused.json()) as Json)['code']).to.equal('TOKEN_REVOKED');
    expect(codeOf(await fixture.control(pxadmin, remove, { id: 0 }))).to.equal('TENANT_NOT_FOUND');
    expect(codeOf(await fixture.control(pxadmin, remove, { id: 'all' }))).to.equal('NOT_FOUND');
  });
});
