import { expect } from 'chai';
import { openShop, roleWith, SHOP_DDL, type Reply, type Shop } from './support/shop.js';

const ALL = ['select', 'insert', 'update', 'delete'];
const code = (reply: Reply): string | undefined => reply.errors?.[0]?.extensions.code;

describe('policies of /query', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());
  afterEach(async () => {
    await shop.sql(`truncate customer, orders, order_item restart identity cascade;
      ${SHOP_DDL.slice(SHOP_DDL.indexOf('insert into customer'))}`);
    await shop.events();
  });

  it('denies a table without a rule, whatever the capabilities', async () => {
    const reply = await shop.ask('{ customer { name } orders { order_id } }', {}, roleWith(shop, ALL));
    expect(reply.data).to.deep.equal({ customer: null, orders: null });
    expect(reply.errors!.map((error) => [error.path, error.extensions.code])).to.deep.equal([
      [['customer'], 'PERMISSION_DENIED'],
      [['orders'], 'PERMISSION_DENIED'],
    ]);
  });

  it('denies a rule without the capability', async () => {
    const clerk = roleWith(shop, ['login'], [{ capabilities: ['select'], targets: ['customer'] }]);
    expect(code(await shop.ask('{ customer { name } }', {}, clerk))).to.equal('PERMISSION_DENIED');
  });

  it('denies a change that a rule grants to a role without the capability', async () => {
    const clerk = roleWith(shop, ['select'], [{ capabilities: ALL, targets: ['customer'] }]);
    for (const mutation of [
      'create_customer(input: { name: "Eve", email: "eve@example.com" }) { name }',
      'update_customer(customer_id: 1, input: { name: "Eve" }) { name }',
      'delete_customer(customer_id: 1) { name }',
    ]) {
      expect(code(await shop.ask(`mutation { ${mutation} }`, {}, clerk)), mutation).to.equal(
        'PERMISSION_DENIED',
      );
    }
  });

  it('shows the rows granted by any rule', async () => {
    const clerk = roleWith(
      shop,
      ['select'],
      [
        { capabilities: ['select'], targets: ['customer'], filter: "country = 'GB'" },
        { capabilities: ['select'], targets: ['customer'], filter: "name = 'Linus'" },
        { capabilities: ['update'], targets: ['customer'] },
      ],
    );
    const data = await shop.data('{ customer { name } }', {}, clerk);
    expect(data.customer).to.deep.equal([{ name: 'Ada' }, { name: 'Linus' }]);
  });

  it('follows the principal in a rule', async () => {
    const rule = {
      capabilities: ['select'],
      targets: ['customer'],
      filter: 'customer_id = $_PRINCIPAL.roleid',
    };
    for (const [roleid, name] of [
      [1, 'Ada'],
      [2, 'Grace'],
    ] as const) {
      const data = await shop.data('{ customer { name } }', {}, roleWith(shop, ['select'], [rule], roleid));
      expect(data.customer).to.deep.equal([{ name }]);
    }
  });

  describe('with some customers hidden', () => {
    const clerk = (): ReturnType<typeof roleWith> =>
      roleWith(shop, ALL, [
        { capabilities: ['select'], targets: ['customer'], filter: "country = 'US'" },
        { capabilities: ['select'], targets: ['orders'] },
        { capabilities: ['insert', 'update'], targets: ['orders'], filter: 'total < 100' },
        { capabilities: ['update', 'delete'], targets: ['customer'], filter: "country = 'US'" },
      ]);

    it('hides them behind to-one relations', async () => {
      const data = await shop.data('{ orders { order_id customer { name } } }', {}, clerk());
      expect(data.orders).to.deep.equal([
        { order_id: '1', customer: null },
        { order_id: '2', customer: null },
        { order_id: '3', customer: { name: 'Grace' } },
      ]);
    });

    it('denies a relation to an unreadable table', async () => {
      const reply = await shop.ask(
        '{ orders { order_item_collection { product } } customer { name } }',
        {},
        clerk(),
      );
      expect(reply.data).to.deep.equal({ orders: null, customer: [{ name: 'Grace' }] });
      expect(reply.errors![0]).to.deep.include({ path: ['orders', 'order_item_collection'] });
      expect(code(reply)).to.equal('PERMISSION_DENIED');
    });

    it("can't be probed through a filter over the relation", async () => {
      const found = await shop.data(`{ orders(filter: "customer.name = 'Ada'") { order_id } }`, {}, clerk());
      expect(found.orders).to.deep.equal([]);
      const denied = await shop.ask(
        `{ orders(filter: "order_item_collection.line = 1") { order_id } }`,
        {},
        clerk(),
      );
      expect(code(denied)).to.equal('PERMISSION_DENIED');
    });

    it("can't be probed through an error that only they raise", async () => {
      const reply = await shop.ask(
        `{ customer(filter: "1 / (customer_id - 1) = 5 or name = 'Grace'") { name } }`,
        {},
        clerk(),
      );
      expect(reply.errors).to.equal(undefined);
      expect(reply.data).to.deep.equal({ customer: [{ name: 'Grace' }] });
    });

    it("can't be probed through an ordering over the relation", async () => {
      const data = await shop.data(
        '{ orders(ordering: "customer.name, order_id desc") { order_id } }',
        {},
        clerk(),
      );
      expect(data.orders).to.deep.equal([{ order_id: '3' }, { order_id: '2' }, { order_id: '1' }]);
    });

    it("can't be changed: they are not found", async () => {
      for (const mutation of [
        'update_customer(customer_id: 1, input: {name: "x"})',
        'delete_customer(customer_id: 1)',
      ]) {
        expect(code(await shop.ask(`mutation { ${mutation} { name } }`, {}, clerk())), mutation).to.equal(
          'NOT_FOUND',
        );
      }
      expect(await shop.events()).to.deep.equal([]);
    });

    it('can not be taken over by an upsert', async () => {
      const reply = await shop.ask(
        'mutation { create_customer(onconflict: update, input: { customer_id: 1, name: "x" }) { name } }',
        {},
        roleWith(shop, ALL, [
          { capabilities: ['insert', 'select'], targets: ['customer'] },
          { capabilities: ['update'], targets: ['customer'], filter: "country = 'US'" },
        ]),
      );
      expect(code(reply)).to.equal('PERMISSION_DENIED');
      expect(await shop.events()).to.deep.equal([]);
    });

    it('checks the row resulting from an insert or update', async () => {
      const insert = (total: number): Promise<Reply> =>
        shop.ask(
          `mutation { create_orders(input: { customer_id: 2, total: ${total} }) { total } }`,
          {},
          clerk(),
        );
      expect((await insert(99)).data).to.deep.equal({ create_orders: { total: 99 } });
      expect(code(await insert(100))).to.equal('PERMISSION_DENIED');
      const update = await shop.ask(
        'mutation { update_orders(order_id: 1, input: { total: 500 }) { total } }',
        {},
        clerk(),
      );
      expect(code(update)).to.equal('PERMISSION_DENIED');
      expect((await shop.data('{ orders(filter: "total >= 100") { order_id } }')).orders).to.deep.equal([]);
      expect((await shop.events()).map((event) => event.operation)).to.deep.equal(['insert']);
    });

    it('returns null for a written row that may not be read', async () => {
      const writer = roleWith(shop, ['insert'], [{ capabilities: ['insert'], targets: ['customer'] }]);
      const data = await shop.data(
        'mutation { create_customer(input: { name: "Z" }) { customer_id } }',
        {},
        writer,
      );
      expect(data).to.deep.equal({ create_customer: null });
      expect(await shop.events()).to.have.length(1);
      const nested = 'mutation { create_customer(input: { name: "Y" }) { orders_collection { order_id } } }';
      expect(await shop.data(nested, {}, writer)).to.deep.equal({ create_customer: null });
    });

    it('keeps the list positions of written rows that may not be read', async () => {
      const writer = roleWith(shop, ALL, [
        { capabilities: ['insert', 'select'], targets: ['orders'] },
        { capabilities: ['insert'], targets: ['customer'] },
        { capabilities: ['select'], targets: ['customer'], filter: "country = 'US'" },
      ]);
      for (const selection of ['name', 'name orders_collection { order_id }']) {
        const data = await shop.data(
          `mutation { create_many_customer(input: [{ name: "A", country: "GB" }, { name: "B", country: "US" }]) { ${selection} } }`,
          {},
          writer,
        );
        expect(data.create_many_customer).to.have.length(2);
        expect(data.create_many_customer![0]).to.equal(null);
        expect(data.create_many_customer![1]).to.include({ name: 'B' });
      }
    });

    it('denies anything no rule grants', async () => {
      const reply = await shop.ask('mutation { delete_orders(order_id: 1) { order_id } }', {}, clerk());
      expect(reply.data).to.equal(null);
      expect(code(reply)).to.equal('PERMISSION_DENIED');
    });
  });

  it("reveals no value of a row when evaluating a rule's filter fails", async () => {
    const clerk = roleWith(
      shop,
      ['select', 'update'],
      [{ capabilities: ['select', 'update'], targets: ['customer'], filter: 'number(name) > 5' }],
    );
    const read = await shop.ask('{ customer(filter: "customer_id = 1") { customer_id } }', {}, clerk);
    const change = 'mutation { update_customer(customer_id: 1, input: { country: "XX" }) { customer_id } }';
    const written = await shop.ask(change, {}, clerk);
    for (const reply of [read, written]) {
      expect(reply.errors, reply.body).to.have.length(1);
      expect(reply.body).not.to.include('Ada');
      expect(reply.errors![0]!.message).to.include('does not fit its type');
    }
  });

  it('ignores a rule that no longer compiles', async () => {
    const clerk = roleWith(
      shop,
      ['select'],
      [{ capabilities: ['select'], targets: ['customer'], filter: 'gone = 1' }],
    );
    expect(code(await shop.ask('{ customer { name } }', {}, clerk))).to.equal('PERMISSION_DENIED');
  });

  it('shares no plan between roles with different rules', async () => {
    const query = '{ customer { name } }';
    const one = roleWith(
      shop,
      ['select'],
      [{ capabilities: ['select'], targets: ['customer'], filter: "name = 'Ada'" }],
    );
    const other = roleWith(
      shop,
      ['select'],
      [{ capabilities: ['select'], targets: ['customer'], filter: "name = 'Grace'" }],
    );
    for (let run = 0; run < 7; run++) {
      expect((await shop.data(query, {}, one)).customer).to.deep.equal([{ name: 'Ada' }]);
      expect((await shop.data(query, {}, other)).customer).to.deep.equal([{ name: 'Grace' }]);
      expect((await shop.data(query)).customer).to.have.length(3);
    }
  });
});
