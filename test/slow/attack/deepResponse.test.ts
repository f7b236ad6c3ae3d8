import { expect } from 'chai';
import { at, codeOf, WebFixture, type Json } from '../../api/webFixture.js';

/** JSON that PostgreSQL holds and JavaScript can't write down by recursion. */
const TABLES = `create table deep (id int primary key generated always as identity, name text,
  doc jsonb default (repeat('[', 5500) || repeat(']', 5500))::jsonb,
  exact json default (repeat('{"a":', 5500) || '1.10' || repeat('}', 5500))::json)`;

describe("attack: rows that nest deeper than the service's stack", () => {
  let fixture: WebFixture;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid, rootRoleid } = await fixture.createTenant('deep', TABLES);
    root = (await fixture.signIn(tenantid)).access_token;
    expect(await control('mutation { set_email_apikey(apikey: "SG.key") { apikey } }')).to.equal(undefined);
    const input = {
      email_type: 'deep',
      subject: 'Subject',
      sender: 'a@example.com',
      recipients: ['b@example.com'],
      template: '{{ rows|length }}',
      queries: [{ query: '{ deep { doc exact } }', outvar: 'rows' }],
    };
    const save = 'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }';
    expect(await control(save, { input })).to.equal(undefined);
    const made = await fixture.graphql('/query', root, 'mutation { create_deep(input: {name: "a"}) { id } }');
    expect(at(made, 'data.create_deep.id')).to.equal('1');
    query = (fields) =>
      `{ Utility { preview_email(email_type: "deep", query_roleid: ${rootRoleid}, target: "deep", key: 1) { ${fields} } } }`;
  });
  after(() => fixture.stop());

  let query: (fields: string) => string;
  const control = async (document: string, variables: Json = {}): Promise<string | undefined> =>
    codeOf(await fixture.control(root, document, variables));

  it('is an error of the preview, not an internal error', async () => {
    expect(await control(query('queries { result }'))).to.equal('DOCUMENT_TOO_COMPLEX');
  });

  it('are read as they are', async () => {
    const response = await fixture.postJson(
      '/query',
      { query: '{ deep { doc } }' },
      { authorization: `Bearer ${root}` },
    );
    expect(await response.text()).to.include('['.repeat(5_000));
  });
});
