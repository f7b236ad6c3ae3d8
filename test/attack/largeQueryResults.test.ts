import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import { WebFixture, type GraphqlResult } from '../api/webFixture.js';

/** 1,000,000 numbers, as JSON 6 MB, which took 2 s to parse. */
const TABLE = `
  create table series (id int primary key, numbers numeric[]);
  insert into series select 1, array_agg(1.50) from generate_series(1, 1000000);
  create table note (id int primary key);
  insert into note values (1);`;

describe('attack: a preview whose queries have results of millions of values', function () {
  this.timeout(60_000);
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', TABLE);
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
      ) { queries { outvar error ${selection} } } } }`,
    );

  it('does not read them unless they are selected', async () => {
    await preview('');
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    const { data, errors } = await preview('');
    delays.disable();
    expect(errors).to.equal(undefined);
    expect(JSON.stringify(data)).to.include('{"outvar":"series","error":null}');
    expect(delays.max / 1e6).to.be.below(1_000);
  });

  it('does not read them if they are too many', async () => {
    const { errors } = await preview('result');
    expect(errors?.[0]?.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
  });
});
