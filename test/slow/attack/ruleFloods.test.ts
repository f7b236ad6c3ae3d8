import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { Pool } from 'pg';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import { at, textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';

describe('attack: rules that are large together', () => {
  let fixture: WebFixture;
  let root: string;
  let roleid: number;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile', 'create table note (id int primary key)');
    ({ access_token: root, roleid } = await fixture.signIn(tenantid));
  });
  after(() => fixture.stop());

  const long = (items: number): string =>
    `id in [${Array.from({ length: items }, (_, n) => 10_000_000 + n).join(', ')}]`;
  const create = (name: string, items: number): Promise<GraphqlResult> =>
    fixture.control(
      root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      { input: { name, capabilities: ['select'], targets: ['note'], filter: long(items) } },
    );

  it('are refused: each request of a role they apply to would read them all', async () => {
    const ids: string[] = [];
    let refused: GraphqlResult | undefined;
    while (!refused && ids.length < 20) {
      const response = await create(`rule ${ids.length}`, 9_500);
      if (response.errors) refused = response;
      else ids.push(textAt(response, 'data.create_policy_rule.ruleid'));
    }
    expect(ids.length).to.equal(10);
    expect(refused?.errors?.[0]?.extensions).to.include({ code: 'BAD_USER_INPUT', field: 'filter' });
    expect((await create('filler', 4_900)).errors).to.equal(undefined);
    const update = (items: number): Promise<GraphqlResult> =>
      fixture.control(
        root,
        'mutation ($ruleid: ID!, $filter: String) { update_policy_rule(ruleid: $ruleid, input: { filter: $filter }) { ruleid } }',
        { ruleid: ids[0], filter: long(items) },
      );
    expect(at(await update(9_999), 'errors.0.extensions.code')).to.equal('BAD_USER_INPUT');
    expect(at(await update(10), 'data.update_policy_rule.ruleid')).to.not.equal(undefined);
    expect((await create('another', 9_000)).errors).to.equal(undefined);
  });

  it('of roles that are gone from memory a second later, although nobody asks for those roles again', async () => {
    let nowMs = 1_000_000;
    const pool = { query: () => Promise.resolve({ rows: [{ capabilities: [], rules: [] }] }) };
    const source = new PrincipalSource(pool as unknown as Pool, () => nowMs);
    const loaded = async (): Promise<WeakRef<object>> => new WeakRef((await source.load(1, 1)) ?? {});
    const principal = await loaded();
    nowMs += 1_000;
    await source.load(1, 2);
    setFlagsFromString('--expose-gc');
    await new Promise((resolve) => setImmediate(resolve));
    (runInNewContext('gc') as () => void)();
    expect(principal.deref()).to.equal(undefined);
    expect(await source.load(1, 2)).to.not.equal(undefined);
  });

  it('with more roles and classes than a statement has parameters are checked like any', async () => {
    const input = {
      name: 'everyone',
      capabilities: ['select'],
      targets: ['note'],
      roles: Array.from({ length: 70_000 }, (_, n) => 1_000_000 + n),
    };
    const response = await fixture.control(
      root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      { input },
    );
    expect(response.errors?.[0]?.extensions).to.include({ code: 'UNKNOWN_ROLE', roleid: 1_000_000 });
  });

  it('nor may email rules be, with which each batch of events is matched', async () => {
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.test") { apikey } }');
    await fixture.control(
      root,
      `mutation { create_email_type(input: { email_type: "note", subject: "s", template: "t", sender: "a@example.com",
        recipients: ["b@example.com"] }) { email_type } }`,
    );
    const many = (count: number, condition: string | null, name: string): Promise<GraphqlResult> => {
      const input = {
        operations: ['insert'],
        targets: ['note'],
        email_type: 'note',
        query_roleid: roleid,
        condition,
      };
      const all = Array.from(
        { length: count },
        (_, n) => `a${n}: create_email_rule(input: $a${n}) { ruleid }`,
      );
      const declared = all.map((_, n) => `$a${n}: email_ruleInput`).join(', ');
      const variables = Object.fromEntries(all.map((_, n) => [`a${n}`, { ...input, name: `${name} ${n}` }]));
      return fixture.control(root, `mutation (${declared}) { ${all.join(' ')} }`, variables);
    };
    const large = `new.${long(8_500)}`;
    for (let request = 0; request < 11; request++) {
      const response = await many(1, large, `large ${request}`);
      expect(response.errors).to.equal(undefined);
    }
    expect(at(await many(1, large, 'too large'), 'errors.0.extensions.field')).to.equal('condition');
    for (let request = 0; request < 9; request++) {
      expect((await many(100, null, `small ${request}`)).errors).to.equal(undefined);
    }
    expect(at(await many(90, null, 'too many'), 'errors.0.message')).to.match(/at most 1000 email rules/);
    const disable = 'mutation { update_email_rule(ruleid: 1, input: { enabled: false }) { enabled } }';
    expect(at(await fixture.control(root, disable), 'data.update_email_rule.enabled')).to.equal(false);
  });
});
