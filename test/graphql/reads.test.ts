import { expect } from 'chai';
import { openShop, SHOP_DDL, type Shop } from './support/shop.js';

describe('reads of /query', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  it('lists rows in key order, ids as strings, numbers with every digit', async () => {
    const { body } = await shop.ask('{ orders { order_id customer_id status total placed } }');
    expect(body).to.equal(
      '{"data":{"orders":[' +
        '{"order_id":"1","customer_id":1,"status":"open","total":10.50,"placed":"2026-01-02T03:04:05+00:00"},' +
        '{"order_id":"2","customer_id":1,"status":"paid","total":20.00,"placed":"2026-01-02T03:04:05+00:00"},' +
        '{"order_id":"3","customer_id":2,"status":"open","total":null,"placed":"2026-01-02T03:04:05+00:00"}]}}',
    );
  });

  it('follows relations in both directions at any depth', async () => {
    const data = await shop.data(`{
      customer(filter: "name = 'Ada'") {
        name
        orders_collection(ordering: "order_id desc", limit: 1) { order_id customer { name } order_item_collection { product orders { status } } }
      }
    }`);
    expect(data.customer).to.deep.equal([
      {
        name: 'Ada',
        orders_collection: [
          {
            order_id: '2',
            customer: { name: 'Ada' },
            order_item_collection: [{ product: 'pot', orders: { status: 'paid' } }],
          },
        ],
      },
    ]);
  });

  it('serves aliases, fragments, directives, __typename and several root fields', async () => {
    const data = await shop.data(
      `query ($no: Boolean!, $f: String) {
        __typename
        few: customer(limit: "2", filter: $f) { ...Names __typename email: email @skip(if: $no) }
        others: customer(offset: 2) { ... on customer { who: name } country @include(if: $no) }
      }
      fragment Names on customer { name }`,
      { no: true, f: '', undeclared: 1 },
    );
    expect(data).to.deep.equal({
      __typename: 'Query',
      few: [
        { name: 'Ada', __typename: 'customer' },
        { name: 'Grace', __typename: 'customer' },
      ],
      others: [{ who: 'Linus', country: 'FI' }],
    });
  });
});
