import { expect } from 'chai';
import { PXADMIN_PASSWORD, textAt, WebFixture } from '../api/webFixture.js';

describe('attack: an anonymous client enumerates roles', () => {
  let fixture: WebFixture;
  let client: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant(
      'shop',
      'create table number (id int primary key); insert into number select generate_series(1, 1000)',
    );
    const root = (await fixture.signIn(tenantid)).access_token;
    const control = async (token: string, document: string): Promise<unknown> => {
      const response = await fixture.control(token, document);
      expect(response.errors, document).to.equal(undefined);
      return response;
    };
    await control(
      root,
      'mutation { create_policy_rule(input: {name: "all", capabilities: ["select"], targets: ["number"]}) { ruleid } }',
    );
    const made = await control(root, '{ Utility { anonymous_logins(enable: true) } } ');
    expect(textAt(made, 'data.Utility.anonymous_logins')).to.match(/^\d+$/);
    client = textAt(await (await fixture.postJson('/anonauth', { tenantid })).json(), 'access_token');
    const other = textAt(
      await control(client, 'mutation { create_role(input: {login: "ada@example.com"}) { roleid } }'),
      'data.create_role.roleid',
    );
    const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const provider = textAt(
      await control(
        pxadmin,
        `mutation { create_oidc_providers(input: {name: "p", auth_uri: "https://p.example/",
          token_uri: "https://p.example/", jwks_uri: "https://p.example/"}) { providerid } }`,
      ),
      'data.create_oidc_providers.providerid',
    );
    const config = textAt(
      await control(
        root,
        `mutation { create_oidc_config(input: {providerid: ${provider}, client_id: "c", client_secret: "s"}) { confid } }`,
      ),
      'data.create_oidc_config.confid',
    );
    await control(
      root,
      `mutation { create_role_oidc(input: {roleid: ${other}, confid: ${config}, sub_id: "ada"}) { sub_id } }`,
    );
  });
  after(() => fixture.stop());

  it('and sees only the anonymous role, no accounts and no identities', async () => {
    const seen = await fixture.control(
      client,
      '{ role { login children { login } parent { login } } role_oidc { sub_id } }',
    );
    expect(seen).to.deep.equal({
      data: { role: [{ login: 'Nobody', children: [], parent: null }], role_oidc: [] },
    });
    const guess = await fixture.control(client, `{ role(filter: "children.login like 'ada%'") { login } }`);
    expect(guess.data).to.deep.equal({ role: [] });
  });

  it('nor do filters tell the ids of those who signed up, however many they are', async () => {
    const asked = await fixture.graphql(
      '/query',
      client,
      '{ number(filter: "id in $_PRINCIPAL.children") { id } }',
    );
    expect(asked.data).to.deep.equal({ number: [] });
  });

  it('also in mutation responses', async () => {
    const made = await fixture.control(
      client,
      'mutation { create_role(input: {login: "bob"}) { login parent { login parent { login } children { login } } } }',
    );
    expect(made.data).to.deep.equal({
      create_role: { login: 'bob', parent: { login: 'Nobody', parent: null, children: [] } },
    });
  });
});
