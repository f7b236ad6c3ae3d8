import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';

/** Drafts are not validated, and their names are free: one tenant stored as many as it liked. */
describe('attack: a tenant fills the database with drafts', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());
  afterEach(() => fixture.testDatabase.database.pool.query('delete from rowpost.email_type_version'));

  const save = (name: string, token = root, template = 'x'): Promise<GraphqlResult> =>
    fixture.control(
      token,
      'mutation ($name: ID!, $input: email_typesInput) { Utility { save_email_draft(email_type: $name, input: $input) } }',
      { name, input: { template } },
    );
  const store = (count: number, creatorid: number, content = '{}') =>
    fixture.testDatabase.database.pool.query(
      `insert into rowpost.email_type_version (tenantid, email_type, version, content, creatorid)
       select $1, 'stored ' || $2::int || ' ' || n, 0, $3, $2 from generate_series(1, $4::int) n`,
      [tenant.tenantid, creatorid, content, count],
    );

  it('of one role', async () => {
    await store(250, tenant.rootRoleid);
    expect(codeOf(await save('one more'))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await save(`stored ${tenant.rootRoleid} 1`)), 'saved again').to.equal(undefined);
    const { token } = await fixture.createMember(root, 'admin', ['login', 'admin']);
    expect(codeOf(await save('one more', token))).to.equal(undefined);
  });

  it('of all its roles', async () => {
    for (let creatorid = 1; creatorid <= 4; creatorid++) await store(250, 1_000_000 + creatorid);
    expect(codeOf(await save('one more'))).to.equal('BAD_USER_INPUT');
  });

  it('of few that are large', async () => {
    await fixture.testDatabase.database.pool.query(
      `insert into rowpost.email_type_version (tenantid, email_type, version, content)
       select $1, 'large ' || n, 0, to_jsonb((select string_agg(md5((n * 1000000 + i)::text), '') from generate_series(1, 62000) i))
       from generate_series(1, 10) n`,
      [tenant.tenantid],
    );
    expect(codeOf(await save('small'))).to.equal(undefined);
    expect(codeOf(await save('large', root, 'x'.repeat(900_000)))).to.equal('BAD_USER_INPUT');
  });
});
