import { expect } from 'chai';
import { at, WebFixture } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

const RULES = 200;
/** As many comparisons as a filter may have. */
const CONDITION = Array.from({ length: 199 }, (_, n) => `new.id = ${n}`).join(' or ');

/** The conditions of all rules were parsed three times in one turn of the event loop. */
describe('attack: explanations by many rules with long conditions', () => {
  let fixture: WebFixture;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile', 'create table note (id int primary key)');
    const { access_token: token, roleid } = await fixture.signIn(tenantid);
    root = token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.test") { apikey } }');
    await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "note", subject: "s", template: "t", sender: "a@example.com",
        recipients: ["b@example.com"] }) { email_type } }`,
    );
    await fixture.testDatabase.database.pool.query(
      `insert into rowpost.email_rule (tenantid, name, operations, targets, email_type, query_roleid, condition, creatorid)
       select $1, 'r' || n, '{delete}', '{note}', 'note', $2, $3, $2 from generate_series(1, $4::int) n`,
      [tenantid, roleid, CONDITION, RULES],
    );
    await fixture.graphql('/query', root, 'mutation { create_note(input: { id: 1 }) { id } }');
  });
  after(() => fixture.stop());

  it('take no long turn of the event loop', async () => {
    const longestMs = watchEventLoop();
    const explained = await fixture.control(
      root,
      '{ Utility { explain_event(target: "note", key: 1) { events { rules { ruleid } } } } }',
    );
    expect(longestMs()).to.be.below(300);
    expect(at(explained, 'data.Utility.explain_event.events.0.rules')).to.have.length(RULES);
  });
});
