import { expect } from 'chai';
import { WebFixture, type GraphqlResult } from '../../api/webFixture.js';

/** A result of 16 MB, the largest, has millions: parsing it took seconds of the event loop of all tenants. */
const TABLES = `
  create table series (id int primary key, numbers numeric[]);
  insert into series select 1, array_agg(1.50) from generate_series(1, 200002);
  create table note (id int primary key);
  insert into note values (1);`;

describe('attack: a preview whose queries have results of very many values', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', TABLES);
    token = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const preview = (selection: string): Promise<GraphqlResult> =>
    fixture.control(
      token,
      `{ Utility { preview_email(
        input: {
          template: "x", subject: "x", recipients: ["ada@example.com"], sender: "shop@example.com",
          queries: [{query: "{ series { numbers } }", outvar: "series"}]
        }
        target: "note"
      ) { subject queries { outvar error ${selection} } } } }`,
    );

  it('does not read them unless they are selected', async () => {
    const { data, errors } = await preview('');
    expect(errors).to.equal(undefined);
    expect(JSON.stringify(data)).to.include('"queries":[{"outvar":"series","error":null}]');
  });

  it('does not read them if they are too many', async () => {
    const { data, errors } = await preview('result');
    expect(errors?.[0]?.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
    expect(JSON.stringify(data)).to.include('"subject":"x"');
  });
});
