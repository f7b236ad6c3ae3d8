import { expect } from 'chai';
import { textAt, WebFixture } from '../api/webFixture.js';

describe('attack: an anonymous client queries a table without a grant', () => {
  let fixture: WebFixture;
  let signedIn: unknown;
  let client: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant(
      'shop',
      `create table vault (id int primary key);
       create table lobby (id int primary key, kept int references vault); insert into lobby values (1);
       create table guest (id int primary key);
       create table vault_visit (lobby_id int references lobby, guest_id int references guest, primary key (lobby_id, guest_id))`,
    );
    const root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const made = await fixture.control(
      root,
      `mutation { create_policy_rule(input: {name: "lobby", capabilities: ["select"], targets: ["lobby", "guest"]}) { ruleid } }`,
    );
    textAt(made, 'data.create_policy_rule.ruleid');
    signedIn = await (await fixture.postJson('/anonauth', { tenantid })).json();
    client = textAt(signedIn, 'access_token');
  });
  after(() => fixture.stop());

  it('does not find it in the sign-in response or by introspection', async () => {
    expect(JSON.stringify((signedIn as { schema: unknown }).schema))
      .to.include('lobby')
      .and.not.include('vault"')
      .and.not.include('vault_visit')
      .and.not.include('guest_collection');
    expect(textAt(signedIn, 'schema.gql')).not.to.match(/type vault\b|create_vault/);
    const type = await fixture.graphql('/query', client, '{ __type(name: "vault") { name } lobby { id } }');
    expect(type.data).to.deep.equal({ __type: null, lobby: [{ id: '1' }] });
  });

  it('and gets the response for an unknown table', async () => {
    for (const document of [
      '{ vault { id } }',
      '{ vaul { id } }',
      '{ lobby { vault { id } } }',
      'mutation { delete_vault(id: 1) { id } }',
      `{ lobby(filter: "vault.id = 1") { id } }`,
    ]) {
      const responseTo = async (text: string): Promise<string> =>
        JSON.stringify(await fixture.graphql('/query', client, text)).replaceAll(/vaulx|vault/g, '');
      const absent = document.replace('vault', 'vaulx').replace('_vault', '_vaulx');
      expect(await responseTo(document), document).to.equal(await responseTo(absent));
    }
  });

  it('nor does a relation that leads through it exist', async () => {
    for (const document of [
      '{ lobby { guest_collection { id } } }',
      `{ lobby(filter: "guest_collection.id = 1") { id } }`,
      `{ lobby(filter: "count(guest_collection.id) = 1") { id } }`,
    ]) {
      const { errors } = await fixture.graphql('/query', client, document);
      expect(errors?.[0]?.extensions.code, document).to.match(/^(GRAPHQL_VALIDATION|FILTER_UNKNOWN_COLUMN)$/);
      expect(JSON.stringify(errors)).to.not.include('vault');
    }
  });
});
