import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, WebFixture, type GraphqlResult } from '../api/webFixture.js';

const TABLES = `
  create table organization (organization_id int primary key, name text);
  create table "group" (group_id int primary key, organization_id int references organization, size int);
  create table seat (seat_id int primary key, group_id int references "group", price int);
  insert into organization values (1, 'one'), (2, 'two'), (3, 'three');
  insert into "group" values (1, 2, 10), (2, 2, 20), (3, 1, 30), (4, 3, 5);
  insert into seat values (1, 1, 7), (2, 1, 3), (3, 3, 5)`;

describe('contract 3.5: Aggregates', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop', TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
  });
  after(() => fixture.stop());

  const aggregate = async (field: string): Promise<unknown> => {
    const { data, errors } = await fixture.graphql('/query', root, `{ Aggregates { response: ${field} } }`);
    expect(errors).to.equal(undefined);
    return at(data, 'Aggregates.response');
  };

  it('the subquery may be `query{group(ordering: …){…}}`: its ordering becomes that of the result', async () => {
    const counts = [
      { count: 1, organization_id: 3 },
      { count: 2, organization_id: 2 },
      { count: 1, organization_id: 1 },
    ];
    expect(
      await aggregate(
        'count(subquery: "query{group(ordering: \\"organization_id desc\\"){group_id organization_id}}")',
      ),
    ).to.deep.equal(counts);
    expect(
      await aggregate(
        'count(subquery: "query named {group(ordering: [\\"organization_id desc\\", \\"size\\"], filter: \\"\\"){group_id organization_id}}")',
      ),
    ).to.deep.equal(counts);
    expect(
      await aggregate(
        'count(subquery: "{seat(ordering: \\"group.organization_id desc\\"){seat_id group{organization_id}}}")',
      ),
    ).to.deep.equal([
      { count: 2, group_organization_id: 2 },
      { count: 1, group_organization_id: 1 },
    ]);
  });

  it("limit and offset of the subquery's field choose the aggregated rows", async () => {
    expect(
      await aggregate('sum(subquery: "{group(ordering: \\"size desc\\", limit: 2){size}}")'),
    ).to.deep.equal([{ sum: 50 }]);
    expect(
      await aggregate('sum(subquery: "{group(ordering: \\"size desc\\", limit: \\"2\\", offset: 1){size}}")'),
    ).to.deep.equal([{ sum: 30 }]);
    expect(
      await aggregate(
        'sum(subquery: "{group(ordering: \\"size desc\\", filter: \\"size < 30\\", limit: 1){size organization{name}}}", filter: "size < 20")',
      ),
    ).to.deep.equal([{ sum: 10, organization_name: 'two' }]);
    const wrong = await fixture.graphql(
      '/query',
      root,
      '{ Aggregates { a: count(subquery: "{group(limit: -1){size}}") b: count(subquery: "{group(first: 1){size}}") c: count(subquery: "{group(ordering: \\"nope\\"){size}}") } }',
    );
    expect(wrong.errors?.map(({ extensions }) => extensions.code)).to.deep.equal([
      'GRAPHQL_VALIDATION',
      'GRAPHQL_VALIDATION',
      'ORDERING_INVALID',
    ]);
  });

  it('outer `ordering: "group_organization_id ASC"` works for a key that is a column as well as for a flattened one', async () => {
    expect(
      await aggregate(
        'sum(subquery: "{group{size organization_id}}", ordering: "group_organization_id ASC", having: "group_organization_id < 3")',
      ),
    ).to.deep.equal([
      { sum: 30, organization_id: 1 },
      { sum: 30, organization_id: 2 },
    ]);
    expect(
      await aggregate(
        'sum(subquery: "{seat{price group{organization_id}}}", ordering: "group_organization_id ASC")',
      ),
    ).to.deep.equal([
      { sum: 5, group_organization_id: 1 },
      { sum: 10, group_organization_id: 2 },
    ]);
  });

  describe('on /roles_pbac', () => {
    const ask = (token: string, field: string): Promise<GraphqlResult> =>
      fixture.control(token, `{ Aggregates { ${field} } }`);

    it('aggregate the rows that the lists show', async () => {
      const boss = await fixture.createMember(root, 'boss', ['login', 'create_role']);
      await fixture.createMember(boss.token, 'clerk', ['login']);
      const all = await fixture.control(
        root,
        `query ($filter: String) { Aggregates {
         count(subquery: "{role{roleid}}", filter: $filter)
         byParent: count(subquery: "{role{roleid parent{login}}}", ordering: "parent_login", having: "parent_login is not null")
         capability: count(subquery: "{capability{capability subset}}", having: "subset = 'crud'") } }`,
        { filter: 'deleted = false' },
      );
      expect(all.errors).to.equal(undefined);
      expect(all.data).to.deep.equal({
        Aggregates: {
          count: [{ count: 3 }],
          byParent: [
            { count: 1, parent_login: 'boss' },
            { count: 1, parent_login: 'root' },
          ],
          capability: [{ count: 4, subset: 'crud' }],
        },
      });
      // Without view_role: itself and the roles below; of the parent nothing.
      const some = await ask(
        boss.token,
        `count(subquery: "{role{roleid}}")
         max(subquery: "{role{login parent{login}}}")`,
      );
      expect(some.data).to.deep.equal({
        Aggregates: {
          count: [{ count: 2 }],
          max: [
            { max: 'clerk', parent_login: 'boss' },
            { max: 'boss', parent_login: null },
          ],
        },
      });
    });

    it('include no hidden rows and no rows of other tenants', async () => {
      const other = await fixture.createTenant('other');
      const otherRoot = (await fixture.signIn(other.tenantid)).access_token;
      expect((await ask(otherRoot, 'count(subquery: "{role{roleid}}")')).data).to.deep.equal({
        Aggregates: { count: [{ count: 1 }] },
      });
      expect((await ask(otherRoot, 'count(subquery: "{role_class_member{roleid}}")')).data).to.deep.equal({
        Aggregates: { count: [{ count: 0 }] },
      });
      const plain = await fixture.createMember(root, 'plain', ['login']);
      const denied = await ask(plain.token, 'count(subquery: "{email_delivery{deliveryid}}")');
      expect(denied.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
      for (const column of ['password_hash', 'tokens_valid_from']) {
        const hidden = await ask(root, `max(subquery: "{role{${column}}}")`);
        expect(hidden.errors?.[0]?.extensions.code).to.equal('GRAPHQL_VALIDATION');
      }
    });
  });
});
