import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const CREATE = `mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) {
  ruleid name capabilities targets roles classes filter creatorid } }`;
const UPDATE =
  'mutation ($id: ID!, $input: policy_ruleInput) { update_policy_rule(ruleid: $id, input: $input) { ruleid name filter targets } }';
const DELETE = 'mutation ($id: ID!) { delete_policy_rule(ruleid: $id) { name } }';

describe('roles_pbac: policy_rule', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let clerk: { roleid: number; token: string };

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'shop',
      `create table customer (id int primary key, name text);
       insert into customer values (1, 'Ada'), (2, 'Bob');`,
    );
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    clerk = await fixture.createMember(root, 'clerk', ['select']);
  });
  after(() => fixture.stop());

  const rule = (changes: Json = {}): Json => ({
    name: 'clerks see Ada',
    capabilities: ['select'],
    targets: ['customer'],
    roles: [clerk.roleid],
    filter: 'id = 1',
    ...changes,
  });
  const create = (changes: Json = {}): Promise<GraphqlResult> =>
    fixture.control(root, CREATE, { input: rule(changes) });
  const seen = async (): Promise<unknown> =>
    at(
      await fixture.graphql('/query', clerk.token, '{ customer(ordering: "id") { name } }'),
      'data.customer',
    );

  it('grants rows once saved, follows updates, and revokes them when deleted', async () => {
    expect(await seen()).to.not.deep.equal([{ name: 'Ada' }]);
    const made = await create();
    expect(made.errors).to.equal(undefined);
    expect(at(made, 'data.create_policy_rule')).to.deep.include(
      rule({ classes: [], creatorid: tenant.rootRoleid }),
    );
    const id = textAt(made, 'data.create_policy_rule.ruleid');
    expect(await seen()).to.deep.equal([{ name: 'Ada' }]);
    const updated = await fixture.control(root, UPDATE, { id, input: { filter: '' } });
    expect(at(updated, 'data.update_policy_rule')).to.deep.equal({
      ruleid: id,
      name: 'clerks see Ada',
      filter: null,
      targets: ['customer'],
    });
    expect(await seen()).to.deep.equal([{ name: 'Ada' }, { name: 'Bob' }]);
    expect((await fixture.control(root, DELETE, { id })).data).to.deep.equal({
      delete_policy_rule: { name: 'clerks see Ada' },
    });
    expect(await seen()).to.not.deep.equal([{ name: 'Ada' }, { name: 'Bob' }]);
  });

  it('reports invalid fields when saved', async () => {
    const cases: [Json, string][] = [
      [{ name: null }, 'BAD_USER_INPUT'],
      [{ capabilities: [] }, 'BAD_USER_INPUT'],
      [{ capabilities: ['fly'] }, 'UNKNOWN_CAPABILITY'],
      [{ targets: [] }, 'BAD_USER_INPUT'],
      [{ targets: ['customer', 'Customer'] }, 'UNKNOWN_TABLE'],
      [{ roles: [clerk.roleid, 999_999] }, 'UNKNOWN_ROLE'],
      [{ classes: [999_999] }, 'BAD_USER_INPUT'],
      [{ filter: 'id = ' }, 'FILTER_SYNTAX'],
      [{ filter: 'no_column = 1' }, 'FILTER_UNKNOWN_COLUMN'],
      [{ filter: "id = 'one'" }, 'FILTER_TYPE'],
    ];
    for (const [changes, code] of cases) {
      expect(codeOf(await create(changes)), JSON.stringify(changes)).to.equal(code);
    }
    expect(codeOf(await create({ filter: 'id = $_PRINCIPAL.roleid' }))).to.equal(undefined);
    expect(codeOf(await create())).to.equal('NAME_TAKEN');
    expect(codeOf(await fixture.control(root, UPDATE, { id: '999999', input: {} }))).to.equal('NOT_FOUND');
  });

  it('is created by admins only; other roles see the rules that apply to them', async () => {
    expect(codeOf(await fixture.control(clerk.token, CREATE, { input: rule({ name: 'x' }) }))).to.equal(
      'PERMISSION_DENIED',
    );
    await create({ name: 'for everybody', roles: [], filter: null });
    await create({ name: 'for root', roles: [tenant.rootRoleid], filter: null });
    const list = await fixture.control(clerk.token, '{ policy_rule(ordering: "name") { name } }');
    expect(list.data).to.deep.equal({ policy_rule: [{ name: 'clerks see Ada' }, { name: 'for everybody' }] });
    const other = await fixture.createTenant('other');
    const stranger = (await fixture.signIn(other.tenantid)).access_token;
    expect((await fixture.control(stranger, '{ policy_rule { name } }')).data).to.deep.equal({
      policy_rule: [],
    });
    const id = textAt(
      await fixture.control(root, '{ policy_rule(limit: 1) { ruleid } }'),
      'data.policy_rule.0.ruleid',
    );
    expect(codeOf(await fixture.control(stranger, DELETE, { id }))).to.equal('NOT_FOUND');
  });

  it('lists the capabilities', async () => {
    const { data } = await fixture.control(
      clerk.token,
      `{ capability(filter: "package = 'auth'") { capability package subset description } }`,
    );
    expect(data).to.deep.equal({
      capability: [
        {
          capability: 'login',
          package: 'auth',
          subset: 'session',
          description: 'Sign in and refresh tokens.',
        },
      ],
    });
  });
});
