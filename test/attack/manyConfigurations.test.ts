import { expect } from 'chai';
import { at, textAt, WebFixture, PXADMIN_PASSWORD } from '../api/webFixture.js';
import { knexOf } from '../support/knexOf.js';

const MOST = 100;

describe('attack: a sign-in page with any number of providers', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let token: string;
  let providerid: number;
  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('hostile'));
    ({ access_token: token } = await fixture.signIn(tenantid));
    const { access_token: pxadmin } = await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD);
    const made = await fixture.control(
      pxadmin,
      `mutation { create_oidc_providers(input: {name: "Provider", auth_uri: "https://id.example/auth",
        token_uri: "https://id.example/token", jwks_uri: "https://id.example/keys", comparison_field: "sub"}) { providerid } }`,
    );
    providerid = Number(textAt(made, 'data.create_oidc_providers.providerid'));
  });
  after(() => fixture.stop());

  const create = (name: string): string =>
    `${name}: create_oidc_config(input: {providerid: ${providerid}, client_id: "c", client_secret: "s"}) { confid }`;
  const shown = async (): Promise<number> => {
    const page = await (await fixture.fetch(`/signin?tenantid=${tenantid}`)).text();
    return page.split('name="confid"').length - 1;
  };

  it('can not be made: a tenant has a hundred configurations', async () => {
    const many = Array.from({ length: MOST }, (_, index) => create(`a${index}`)).join('\n');
    expect(at(await fixture.control(token, `mutation { ${many} }`), 'errors')).to.equal(undefined);
    const refused = await fixture.control(token, `mutation { ${create('more')} }`);
    expect(at(refused, 'errors.0.extensions.code')).to.equal('BAD_USER_INPUT');
    expect(await shown()).to.equal(MOST);
  });

  it('shows no more, wherever they come from', async () => {
    await knexOf(fixture.testDatabase.database).raw(
      `insert into rowpost.oidc_config (tenantid, providerid, client_id, client_secret_encrypted, client_secret_uuid)
       select tenantid, providerid, client_id, client_secret_encrypted, gen_random_uuid() from rowpost.oidc_config`,
    );
    expect(await shown()).to.equal(MOST);
  });
});
