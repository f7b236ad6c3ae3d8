import { expect } from 'chai';
import { openShop, roleWith, SHOP_DDL, type Shop } from '../support/shop.js';

describe('Aggregates of /query', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  it('work beside lists, under aliases and in fragments', async () => {
    const data = await shop.data(`{
      Aggregates {
        __typename
        count(subquery: "{ orders { order_id } }")
        ...sums
        byCountry: sum(subquery: "{ orders { total customer { country } } }", ordering: "customer_country")
      }
      orders(limit: 1) { order_id }
    }
    fragment sums on Aggregates { sum(subquery: "{ orders { total } }") }`);
    expect(data).to.deep.equal({
      Aggregates: {
        __typename: 'Aggregates',
        count: [{ count: 3 }],
        sum: [{ sum: 30.5 }],
        byCountry: [
          { sum: 30.5, customer_country: 'GB' },
          { sum: null, customer_country: 'US' },
        ],
      },
      orders: [{ order_id: '1' }],
    });
  });

  it('share a plan only with equal subquery, keys and order', async () => {
    const query = `query ($s: String, $f: String, $h: String, $d: [String], $o: [String]) {
      Aggregates { count(subquery: $s, filter: $f, having: $h, distincton: $d, ordering: $o) }
    }`;
    const count = async (variables: Record<string, unknown>): Promise<unknown> =>
      (await shop.data(query, variables)).Aggregates!.count;
    const s = '{ orders { order_id status } }';
    expect(await count({ s, f: 'order_id < 3' })).to.deep.equal([
      { count: 1, status: 'open' },
      { count: 1, status: 'paid' },
    ]);
    expect(await count({ s, f: 'order_id < 2' })).to.deep.equal([{ count: 1, status: 'open' }]);
    expect(await count({ s: '{ customer { name } }' })).to.deep.equal([{ count: 3 }]);
    expect(await count({ s, h: 'count > 1' })).to.deep.equal([{ count: 2, status: 'open' }]);
    expect(await count({ s, h: 'count > 0', o: 'status desc' })).to.deep.equal([
      { count: 1, status: 'paid' },
      { count: 2, status: 'open' },
    ]);
    const lines = '{ order_item { quantity order_id line } }';
    expect(await count({ s: lines, d: 'order_id' })).to.have.length(2);
    expect(await count({ s: lines, d: ['order_id', 'line'] })).to.have.length(3);
  });

  it('count only rows that the role may read', async () => {
    const clerk = roleWith(
      shop,
      ['select'],
      [{ capabilities: ['select'], targets: ['orders'], filter: "status = 'open'" }],
    );
    const reply = await shop.ask(
      `{ Aggregates { count(subquery: "{ orders { order_id } }") names: count(subquery: "{ customer { name } }") } }`,
      {},
      clerk,
    );
    expect(reply.data).to.deep.equal({ Aggregates: { count: [{ count: 2 }], names: null } });
    expect(reply.errors).to.have.length(1);
    expect(reply.errors![0]).to.deep.include({ path: ['Aggregates', 'names'] });
    expect(reply.errors![0]!.extensions.code).to.equal('PERMISSION_DENIED');
  });

  it('raise errors at their own field, including at run time', async () => {
    const refused = await shop.ask('{ Aggregates { sum(subquery: "{ orders { status } }") count } }');
    expect(refused.data).to.deep.equal({ Aggregates: { sum: null, count: null } });
    expect(refused.errors!.map((error) => [error.path, error.extensions.code])).to.deep.equal([
      [['Aggregates', 'sum'], 'BAD_USER_INPUT'],
      [['Aggregates', 'count'], 'BAD_USER_INPUT'],
    ]);
    const failed = await shop.ask(
      '{ Aggregates { a: count(subquery: "{ orders { order_id } }", filter: "sqrt(order_id - 2) > 0") } }',
    );
    expect(failed.errors![0]).to.deep.include({ path: ['Aggregates', 'a'] });
    expect(failed.errors![0]!.extensions.code).to.equal('FILTER_TYPE');
  });

  it('work in emails', async () => {
    const query =
      'query ($filter: String) { Aggregates { sum(subquery: "{ orders { total } }", filter: $filter) } }';
    await shop.engine.checkEmailQuery(shop.tenant.tenantid, shop.tenant.schema, { query });
    const { json } = await shop.engine.runEmailQuery(shop.root, { query, filter: 'order_id = 2' });
    expect(JSON.parse(json)).to.deep.equal({ sum: [{ sum: 20 }] });
    const wrong = '{ Aggregates { sum(subquery: "{ nothing { total } }") } }';
    const error: unknown = await shop.engine
      .checkEmailQuery(shop.tenant.tenantid, shop.tenant.schema, { query: wrong })
      .catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'EMAIL_QUERY_INVALID' });
  });
});
