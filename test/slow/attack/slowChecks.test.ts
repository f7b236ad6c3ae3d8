import { expect } from 'chai';
import { at, textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

const TABLES = 200;
const NAMES = `query ($input: email_typesInput) { Utility { template_names(input: $input) { context } } }`;
const CHECK = `query ($input: email_typesInput, $target: String) {
  Utility { check_email(input: $input, target: $target) { code message } }
}`;

describe('attack: settings that take long to check', () => {
  let fixture: WebFixture;
  let root: string;
  let roleid: number;
  const tables = Array.from({ length: TABLES }, (_, index) => `note${index}`);

  before(async () => {
    fixture = await WebFixture.start();
    const sql = tables.map((name) => `create table ${name} (id int primary key, body text)`).join(';');
    const { tenantid } = await fixture.createTenant('hostile', sql);
    ({ access_token: root, roleid } = await fixture.signIn(tenantid));
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.test") { apikey } }');
    await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "note", subject: "s", template: "t", sender: "a@example.com",
        recipients: ["b@example.com"] }) { email_type } }`,
    );
    await names('{ note0 { id } }');
  });
  after(() => fixture.stop());

  /** Milliseconds of the longest turn of the event loop, in which the request is also sent and its response read. */
  async function holdUp(request: () => Promise<unknown>): Promise<number> {
    const longestMs = watchEventLoop();
    await request();
    return longestMs();
  }

  const names = (query: string): Promise<GraphqlResult> =>
    fixture.control(root, NAMES, { input: { queries: [{ outvar: 'notes', query }] } });

  it('as drafts of queries whose fragments double or refer to themselves', async () => {
    const doubling = Array.from(
      { length: 22 },
      (_, n) => `fragment f${n} on note0 { ...f${n + 1} ...f${n + 1} }`,
    );
    for (const fragments of [
      [...doubling, 'fragment f22 on note0 { unknown }'],
      [...doubling, 'fragment f22 on note0 { ...none }'],
      ['fragment f0 on note0 { id ...f0 }'],
      ['fragment f0 on note0 { id a: note1 { ...f0 } b: note1 { ...f0 } }'],
    ]) {
      let response: GraphqlResult | undefined;
      const heldUpMs = await holdUp(async () => {
        response = await names(`{ note0 { ...f0 } } ${fragments.join(' ')}`);
      });
      expect(response?.errors).to.equal(undefined);
      expect(at(response, 'data.Utility.template_names.context')).to.include('notes');
      expect(heldUpMs).to.be.below(400);
    }
    const nested = await names('{ note0 '.repeat(20_000));
    expect(at(nested, 'data.Utility.template_names.context')).to.include('notes');
    const read = await names('{ note0 { ...f } } fragment f on note0 { id other: body }');
    expect(at(read, 'data.Utility.template_names.context')).to.include.members(['notes.id', 'notes.other']);
  });

  it('as an email type with many queries', async () => {
    const queries = Array.from({ length: 20 }, (_, index) => ({
      outvar: `notes${index}`,
      query: `{ ${Array.from({ length: 500 }, (_item, n) => `a${index}_${n}: note0(filter: "id = ${n}") { id }`).join(' ')} }`,
    }));
    const input = {
      email_type: 'many',
      subject: 's',
      template: 't',
      sender: 'a@example.com',
      recipients: ['b@example.com'],
      queries,
    };
    let response: GraphqlResult | undefined;
    const heldUpMs = await holdUp(async () => {
      response = await fixture.control(root, CHECK, { input, target: 'note0' });
    });
    expect(at(response, 'data.Utility.check_email')).to.deep.equal([]);
    expect(heldUpMs).to.be.below(400);
  });

  const long = (column: string): string =>
    Array.from({ length: 150 }, (_, n) => `${column} = ${n}`).join(' or ');

  it('as a policy rule on many tables, which it names any number of times', async () => {
    const targets = Array.from({ length: 20 }, () => tables).flat();
    const create = `mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { targets } }`;
    const input = { name: 'many', capabilities: ['select'], targets, filter: long('id') };
    let response: GraphqlResult | undefined;
    const heldUpMs = await holdUp(async () => {
      response = await fixture.control(root, create, { input });
    });
    expect(at(response, 'data.create_policy_rule.targets')).to.deep.equal(tables);
    expect(heldUpMs).to.be.below(400);
  });

  it('as an email rule with a condition on many tables', async () => {
    const create = `mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }`;
    const input = {
      name: 'many',
      operations: ['insert'],
      targets: tables,
      email_type: 'note',
      query_roleid: roleid,
      condition: long('new.id'),
    };
    let response: GraphqlResult | undefined;
    const heldUpMs = await holdUp(async () => {
      response = await fixture.control(root, create, { input });
    });
    expect(textAt(response, 'data.create_email_rule.ruleid')).to.be.a('string');
    expect(heldUpMs).to.be.below(400);
  });
});
