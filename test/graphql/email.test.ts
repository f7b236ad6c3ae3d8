import { expect } from 'chai';
import { AppError } from '../../src/foundation/errors.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from './support/shop.js';

async function errorOf(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    expect(error).to.be.instanceOf(AppError);
    return error as AppError;
  }
  throw new Error('no error');
}

describe('engine functions for emails', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  describe('queries', () => {
    const query = `query ($filter: String, $ordering: [String], $limit: Int, $offset: Int) {
      orders(filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) { order_id order_item_collection { product } }
    }`;
    const check = (text: string): Promise<void> =>
      shop.engine.checkEmailQuery(shop.tenant.tenantid, shop.tenant.schema, { query: text });

    it('return the list of their single root field', async () => {
      const { json } = await shop.engine.runEmailQuery(shop.root, {
        query,
        filter: 'order_id < 3',
        ordering: ['order_id desc'],
        limit: 1,
      });
      expect(json).to.equal('[{"order_id":"2","order_item_collection":[{"product":"pot"}]}]');
    });

    it('return an object for several', async () => {
      const { json } = await shop.engine.runEmailQuery(shop.root, {
        query: '{ a: customer(limit: 1) { name } b: orders(limit: 1) { status } }',
      });
      expect(json).to.equal('{"a":[{"name":"Ada"}],"b":[{"status":"open"}]}');
    });

    it("run under the role's rules", async () => {
      const clerk = roleWith(
        shop,
        ['select'],
        [{ capabilities: ['select'], targets: ['customer'], filter: "country = 'US'" }],
      );
      expect((await shop.engine.runEmailQuery(clerk, { query: '{ customer { name } }' })).json).to.equal(
        '[{"name":"Grace"}]',
      );
      expect((await errorOf(shop.engine.runEmailQuery(clerk, { query }))).code).to.equal('PERMISSION_DENIED');
    });

    it('are rejected with a location', async () => {
      await check(query);
      const refused: [string, number | undefined][] = [
        ['{ orders { order_id', 1],
        ['{ orders {\n  nothing } }', 2],
        ['mutation { delete_orders(order_id: 1) { order_id } }', 1],
        ['query ($id: ID) { orders { order_id } }', 1],
        ['{ orders(filter: "nothing = 1") { order_id } }', 1],
        ['query a { __typename } query b { __typename }', undefined],
      ];
      for (const [text, line] of refused) {
        const error = await errorOf(check(text));
        expect(error.code, text).to.equal('EMAIL_QUERY_INVALID');
        expect(error.details['line'], text).to.equal(line);
      }
    });

    it('are read-only', async () => {
      const mutation = 'mutation { delete_orders(order_id: 1) { order_id } }';
      expect((await errorOf(shop.engine.runEmailQuery(shop.root, { query: mutation }))).code).to.equal(
        'EMAIL_QUERY_INVALID',
      );
      expect(await shop.events()).to.deep.equal([]);
    });
  });

  describe('conditions', () => {
    const evaluate = (
      condition: string,
      events: { old?: object; new?: object }[],
    ): Promise<(boolean | AppError)[]> =>
      shop.engine.evaluateCondition(
        shop.tenant.tenantid,
        shop.tenant.schema,
        'orders',
        condition,
        events.map((event) => ({
          old: event.old ? JSON.stringify(event.old) : null,
          new: event.new ? JSON.stringify(event.new) : null,
        })),
      );

    it('compare the row before and after, for all events in order', async () => {
      const row = { order_id: 1, customer_id: 1, status: 'open', total: 10.5 };
      const paid = { ...row, status: 'paid' };
      expect(
        await evaluate("new.status = 'paid' and old.status != 'paid'", [
          { old: row, new: paid },
          { old: paid, new: paid },
          { new: paid },
          { old: row },
        ]),
      ).to.deep.equal([true, false, false, false]);
    });

    it('follow relations in their current state', async () => {
      expect(
        await evaluate("new.customer.country = 'GB'", [
          { new: { customer_id: 1 } },
          { new: { customer_id: 2 } },
        ]),
      ).to.deep.equal([true, false]);
    });

    it('are validated when saved', async () => {
      const check = (condition: string, target = 'orders'): Promise<void> =>
        shop.engine.checkCondition(shop.tenant.tenantid, shop.tenant.schema, target, condition);
      await check("new.status = 'paid'");
      expect((await errorOf(check('new.nothing = 1'))).code).to.equal('FILTER_UNKNOWN_COLUMN');
      expect((await errorOf(check('new.status ='))).code).to.equal('FILTER_SYNTAX');
      expect((await errorOf(check("new.customer_id = 'x'"))).code).to.equal('FILTER_TYPE');
      expect((await errorOf(check('new.x = 1', 'nothing'))).code).to.equal('UNKNOWN_TABLE');
    });
  });
});
