import { expect } from 'chai';
import { createTemplatePool } from 'rowpost-jinja2';
import { composeEmail } from '../../src/email/composeEmail.js';
import { WebFixture } from '../api/webFixture.js';
import { at } from '../api/webFixture.js';

const TABLES = `
  create table note (id int primary key, body text);
  insert into note select n, repeat('x', 1000000) from generate_series(1, 4) n;`;

describe("attack: results of an email's queries", () => {
  let fixture: WebFixture;
  let tenantid: number;
  let roleid: number;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const tenant = await fixture.createTenant('shop', TABLES);
    tenantid = tenant.tenantid;
    roleid = tenant.rootRoleid;
    token = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  it('count as responses in flight until it is composed', async () => {
    const { engine } = fixture;
    const pool = createTemplatePool();
    const held: number[] = [];
    const render: typeof pool.render = (job) => {
      held.push(engine.responses.heldBytes);
      return pool.render(job);
    };
    const queries = ['a', 'b'].map((outvar) => ({ query: '{ note { body } }', outvar }));
    const type = {
      email_type: 't',
      template: '{{ a | length }}',
      subject: 'x',
      recipients: ['ada@example.com'],
      sender: 'shop@example.com',
      syntax: 'jinja2',
      queries,
    };
    const preview = await fixture.control(
      token,
      `query ($input: email_typesInput) { Utility { preview_email(input: $input, target: "note") { html error { message } } } }`,
      { input: { ...type, email_type: undefined } },
    );
    expect(at(preview, 'data.Utility.preview_email.html')).to.equal('4');
    expect(engine.responses.heldBytes).to.equal(0);
    const composed = await composeEmail(
      {
        engine,
        templates: { render },
        principals: fixture.principals,
        baseUrl: 'http://localhost',
        now: () => 0,
      },
      { tenantid, queryRoleid: roleid, operation: 'insert', target: null, old: null, new: null },
      { ...type, options: {} } as never,
      { unsubscribeUrl: () => '', variant: () => Promise.resolve(undefined) },
    );
    expect(composed.kind).to.equal('email');
    expect(held).to.have.length(1);
    expect(held[0]).to.be.above(8_000_000);
    expect(engine.responses.heldBytes).to.equal(0);
    await pool.close();
  });

  it('are no more in total than templates take', async () => {
    const queries = Array.from({ length: 6 }, (_, index) => ({
      query: '{ note { body } }',
      outvar: `q${index}`,
    }));
    const preview = await fixture.control(
      token,
      `query ($input: email_typesInput) { Utility { preview_email(input: $input, target: "note") { queries { outvar error } } } }`,
      {
        input: {
          template: 'x',
          subject: 'x',
          recipients: ['ada@example.com'],
          sender: 'shop@example.com',
          queries,
        },
      },
    );
    expect(JSON.stringify(preview)).to.include('results of more than 12000000 characters in total');
    expect(fixture.engine.responses.heldBytes).to.equal(0);
  });
});
