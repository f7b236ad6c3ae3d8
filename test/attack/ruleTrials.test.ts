import { expect } from 'chai';
import { at, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { cpuTimer } from '../support/cpuTime.js';
import { watchEventLoop } from '../support/loopBlocks.js';

const TABLES = 600;
/** Together with their tables, they have about as many characters as the rules of a tenant may have. */
const RULES = 200;
const MAX_CPU_MS = 5_000;
const TRY = `query ($input: email_ruleInput) { Utility { try_email_rule(input: $input) { matched other_rules { name } } } }`;

describe('attack: trials of a rule that are compared with very many other rules', () => {
  let fixture: WebFixture;
  let root: string;
  let tenantid: number;
  let roleid: number;
  const tables = Array.from({ length: TABLES }, (_, index) => `t${String(index).padStart(3, '0')}`);

  before(async () => {
    fixture = await WebFixture.start();
    const sql = tables.map((name) => `create table ${name} (id int primary key, body text)`).join(';');
    ({ tenantid } = await fixture.createTenant('hostile', sql));
    ({ access_token: root, roleid } = await fixture.signIn(tenantid));
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.test") { apikey } }');
    await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "note", subject: "s", template: "t", sender: "a@example.com",
        recipients: ["b@example.com"] }) { email_type } }`,
    );
  });
  after(() => fixture.stop());

  async function makeRules(targets: readonly string[], condition: string | null): Promise<void> {
    const { pool } = fixture.testDatabase.database;
    await pool.query('delete from rowpost.email_rule where tenantid = $1', [tenantid]);
    await pool.query(
      `insert into rowpost.email_rule (tenantid, name, operations, targets, email_type, query_roleid, condition)
       select $1, 'rule ' || g, '{insert}', $2, 'note', $3, $4 from generate_series(1, $5::int) g`,
      [tenantid, targets, roleid, condition, RULES],
    );
  }

  async function tryRule(targets: readonly string[], condition?: string): Promise<void> {
    const [longestMs, cpuMs] = [watchEventLoop(), cpuTimer()];
    const response: GraphqlResult = await fixture.control(root, TRY, {
      input: { operations: ['insert'], targets, condition },
    });
    expect(response.errors).to.equal(undefined);
    expect(at(response, 'data.Utility.try_email_rule.other_rules')).to.deep.equal([]);
    expect(longestMs(), 'longest turn').to.be.below(150);
    expect(cpuMs()).to.be.below(MAX_CPU_MS);
  }

  it('for other tables', async () => {
    await makeRules(tables.slice(0, TABLES / 2), null);
    await tryRule(tables.slice(TABLES / 2));
  });

  it('whose conditions exclude it, for each of its tables', async () => {
    const comparisons = Array.from({ length: 60 }, (_, n) => `new.id = ${n}`);
    await makeRules(tables, `new.body = 'other' and (${comparisons.join(' or ')})`);
    await tryRule(tables, "new.body = 'one'");
  });
});
