import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ERROR_EXAMPLES, EXAMPLE_TABLES } from '../../scripts/errorExamples.js';
import { ERROR_CODES, type ErrorCode } from '../../src/foundation/errors.js';
import { PXADMIN_PASSWORD, textAt, WebFixture } from '../api/webFixture.js';

describe('docs/reference/errors.md', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
  let fixture: WebFixture;
  let root: string;
  /** As the tenant has them, for the numbers of the page. */
  let role: number;
  let confid: string;

  before(async () => {
    fixture = await WebFixture.start({ config: { schemaCheckMs: 600_000 } });
    const tenant = await fixture.createTenant('shop', EXAMPLE_TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    role = tenant.rootRoleid;
    const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const provider = await fixture.control(
      pxadmin,
      `mutation { create_oidc_providers(input: {name: "p", auth_uri: "https://p.example/", token_uri: "https://p.example/",
        jwks_uri: "https://p.example/"}) { providerid } }`,
    );
    const config = await fixture.control(
      root,
      `mutation { create_oidc_config(input: {providerid: ${textAt(provider, 'data.create_oidc_providers.providerid')},
        client_id: "c", client_secret: "s"}) { confid } }`,
    );
    confid = textAt(config, 'data.create_oidc_config.confid');
    await fixture.control(
      root,
      `mutation { create_role_oidc(input: {roleid: ${role}, confid: ${confid}, sub_id: "ada"}) { roleid } }`,
    );
    // What is not granted to the tenant's role, and that the service can't grant: it is kept from trying again.
    const { pool, tenants } = fixture.testDatabase.database;
    await pool.query(`create table ${tenant.schema}.ledger (id int primary key)`);
    await fixture.control(root, '{ Utility { introspect } }');
    const owner = (await tenants.names()).tenant(tenant.tenantid);
    await pool.query(`revoke all on ${tenant.schema}.ledger from ${owner}`);
  });
  after(() => fixture.stop());

  for (const example of ERROR_EXAMPLES) {
    const { path, request, code, message, table, column, hint } = example;
    it(`${request} fails as the page shows`, async () => {
      expect(page).to.contain(`| \`${request}\` | ${message} |`);
      const sent = request.replace('roleid: 1, confid: 1', `roleid: ${role}, confid: ${confid}`);
      const { errors } = await fixture.graphql(path, root, sent);
      const [error] = errors ?? [];
      const shown = error?.message.replace(
        `Role ${role} is mapped through configuration ${confid}`,
        'Role 1 is mapped through configuration 1',
      );
      expect(shown).to.equal(message);
      expect(error?.extensions.code).to.equal(code);
      expect(error?.extensions['hint']).to.equal(hint ?? ERROR_CODES[code as ErrorCode][1]);
      if (path === '/query') {
        expect([error?.extensions['table'], error?.extensions['column']]).to.deep.equal([table, column]);
      }
    });
  }

  it('refers in its hints to nothing an API client lacks: no page, no file', () => {
    for (const [code, [, hint]] of Object.entries(ERROR_CODES)) {
      expect(hint, code).to.not.match(/docs\/|src\/|\.md\b|\.ts\b/);
    }
  });
});
