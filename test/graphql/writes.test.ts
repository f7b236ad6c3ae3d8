import { expect } from 'chai';
import { openShop, SHOP_DDL, type Json, type Shop } from './support/shop.js';

describe('mutations of /query', () => {
  let shop: Shop;
  beforeEach(async () => (shop = await openShop(SHOP_DDL)));
  afterEach(() => shop.close());

  it('creates a row and writes its event in the same transaction', async () => {
    const data = await shop.data(
      'mutation ($input: customerInput!) { create_customer(input: $input) { customer_id name email } }',
      { input: { name: "O'Neil", email: 'o@example.org' } },
    );
    expect(data.create_customer).to.deep.equal({ customer_id: '4', name: "O'Neil", email: 'o@example.org' });
    expect(await shop.events()).to.deep.equal([
      {
        tenantid: shop.tenant.tenantid,
        roleid: shop.root.roleid,
        operation: 'insert',
        target: 'customer',
        key: { customer_id: 4 },
        old: null,
        new: { customer_id: 4, name: "O'Neil", email: 'o@example.org', country: null },
      },
    ]);
    expect(shop.commits()).to.equal(1);
  });

  it('updates only the given columns, recording the row before and after', async () => {
    const data = await shop.data(
      'mutation { update_orders(order_id: 1, input: { status: "paid" }) { order_id status total customer { name } order_item_collection { product } } }',
    );
    expect(data.update_orders).to.deep.equal({
      order_id: '1',
      status: 'paid',
      total: 10.5,
      customer: { name: 'Ada' },
      order_item_collection: [{ product: 'tea' }, { product: 'cup "blue"' }],
    });
    const [event, ...others] = await shop.events();
    expect(others).to.be.empty;
    expect(event).to.deep.include({ operation: 'update', target: 'orders', key: { order_id: 1 } });
    expect(event!.old!.status).to.equal('open');
    expect(event!.new!.status).to.equal('paid');
  });

  it('deletes a row and returns it with its former relations', async () => {
    const data = await shop.data(
      'mutation { delete_orders(order_id: "1") { order_id customer { name } order_item_collection { line } } }',
    );
    expect(data.delete_orders).to.deep.equal({
      order_id: '1',
      customer: { name: 'Ada' },
      order_item_collection: [{ line: '1' }, { line: '2' }],
    });
    const [event] = await shop.events();
    expect(event).to.deep.include({ operation: 'delete', key: { order_id: 1 }, new: null });
    expect((await shop.data('{ order_item { product } }')).order_item).to.deep.equal([{ product: 'pot' }]);
  });

  it('accepts composite keys, one argument per column', async () => {
    const data = await shop.data(`mutation {
      update_order_item(order_id: 1, line: 2, input: { quantity: "5" }) { quantity }
      delete_order_item(order_id: 1, line: 1) { product }
    }`);
    expect(data).to.deep.equal({
      update_order_item: { quantity: 5 },
      delete_order_item: { product: 'tea' },
    });
    expect((await shop.events()).map((event) => event.key)).to.deep.equal([
      { order_id: 1, line: 2 },
      { order_id: 1, line: 1 },
    ]);
  });

  it('creates many rows in one statement, with one event per row', async () => {
    const data = await shop.data(
      `mutation ($rows: [customerInput!]!) { create_many_customer(input: $rows) { customer_id name orders_collection { order_id } } }`,
      { rows: [{ name: 'A' }, { name: 'B', country: 'CH' }, { name: 'C' }] },
    );
    expect(data.create_many_customer).to.deep.equal([
      { customer_id: '4', name: 'A', orders_collection: [] },
      { customer_id: '5', name: 'B', orders_collection: [] },
      { customer_id: '6', name: 'C', orders_collection: [] },
    ]);
    expect((await shop.events()).map((event) => event.operation)).to.deep.equal([
      'insert',
      'insert',
      'insert',
    ]);
  });

  it('reads relations of a row that the mutation created', async () => {
    const data = await shop.data(`mutation {
      a: create_orders(input: { customer_id: 3 }) { order_id customer { name orders_collection { order_id status } } }
      b: create_orders(input: { customer_id: 3, status: "new" }) { status customer { orders_collection { order_id } } }
    }`);
    expect(data).to.deep.equal({
      a: {
        order_id: '4',
        customer: { name: 'Linus', orders_collection: [{ order_id: '4', status: 'open' }] },
      },
      b: { status: 'new', customer: { orders_collection: [{ order_id: '4' }, { order_id: '5' }] } },
    });
  });

  describe('onconflict', () => {
    const upsert = `mutation ($input: customerInput, $do: OnConflict) { create_customer(input: $input, onconflict: $do) { customer_id name country } }`;

    it('updates the row with the same unique key, as an update event', async () => {
      const input = { email: 'ada@example.org', name: 'Ada L.' };
      const data = await shop.data(upsert, { input, do: 'update' });
      expect(data.create_customer).to.deep.equal({ customer_id: '1', name: 'Ada L.', country: 'GB' });
      const [event] = await shop.events();
      expect(event).to.deep.include({ operation: 'update', key: { customer_id: 1 } });
      expect(event!.old).to.deep.include({ name: 'Ada', country: 'GB' });
      expect(event!.new).to.deep.include({ name: 'Ada L.', country: 'GB' });
    });

    it('inserts where there is none, as an insert event', async () => {
      const data = await shop.data(upsert, {
        input: { email: 'new@example.org', name: 'New' },
        do: 'update',
      });
      expect(data.create_customer).to.deep.equal({ customer_id: '4', name: 'New', country: null });
      const [event] = await shop.events();
      expect(event).to.deep.include({ operation: 'insert', old: null });
    });

    it('ignores the conflict: null, and no event', async () => {
      const input = { email: 'ada@example.org', name: 'X' };
      expect((await shop.data(upsert, { input, do: 'ignore' })).create_customer).to.equal(null);
      expect(await shop.events()).to.be.empty;
    });

    it('updates by a unique index that is no constraint, as ORMs create them', async () => {
      await shop.sql(`
        create table member (id int generated always as identity primary key, org int, email text, name text);
        create unique index member_lower on member (lower(email));
        create unique index member_of_one on member (name) where org = 1;
        create unique index member_org on member (org, email) include (name)`);
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      const write = (name: string): Promise<Json> =>
        shop.data(
          'mutation ($name: String) { create_member(onconflict: update, input: { org: 1, email: "a@x.org", name: $name }) { id name } }',
          { name },
        );
      await write('Ada');
      expect((await write('Ada L.')).create_member).to.deep.equal({ id: '1', name: 'Ada L.' });
      const [, event] = await shop.events();
      expect(event).to.deep.include({ operation: 'update', target: 'member' });
      await shop.sql('drop table member');
    });

    it('records the row that a unique key finds by null, where nulls are not distinct', async () => {
      await shop.sql(`create table seat (id int generated by default as identity (start 9) primary key, hall int, place int, name text, unique nulls not distinct (hall, place));
        insert into seat values (1, 1, null, 'Ada'), (2, null, null, 'Bob'), (3, null, 1, 'Cy')`);
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      await shop.data(`mutation {
        create_seat(onconflict: update, input: { hall: null, place: null, name: "Eve" }) { id }
        create_many_seat(onconflict: update, input: [{ hall: 1, place: null, name: "Fay" }, { hall: 2, place: null, name: "Gil" }]) { id }
      }`);
      const events = await shop.events();
      expect(
        events.map((event) => [event.operation, event.old?.name ?? null, event.new?.name]),
      ).to.deep.equal([
        ['update', 'Bob', 'Eve'],
        ['update', 'Ada', 'Fay'],
        ['insert', null, 'Gil'],
      ]);
      await shop.sql('drop table seat');
    });

    it('is refused for a table with a deferrable key, which PostgreSQL checks too late', async () => {
      await shop.sql(`create table late (id int primary key deferrable, place int unique deferrable)`);
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      const create =
        'mutation ($do: OnConflict) { create_late(onconflict: $do, input: { id: 1, place: 1 }) { id } }';
      await shop.data(create, { do: 'fail' });
      for (const how of ['update', 'ignore']) {
        const { errors } = await shop.ask(create, { do: how });
        expect(errors, how).to.have.length(1);
        expect(errors![0], how).to.deep.include({ path: ['create_late'] });
        expect(errors![0]!.extensions, how).to.include({ code: 'BAD_USER_INPUT', argument: 'onconflict' });
      }
      await shop.sql('drop table late');
    });

    it('upserts many rows', async () => {
      const data = await shop.data(
        `mutation { create_many_customer(onconflict: update, input: [{ customer_id: 2, name: "G" }, { customer_id: 9, name: "N" }]) { customer_id name } }`,
      );
      expect(data.create_many_customer).to.deep.equal([
        { customer_id: '2', name: 'G' },
        { customer_id: '9', name: 'N' },
      ]);
      const events = await shop.events();
      expect(events.map((event) => [event.operation, event.old?.name ?? null])).to.deep.equal([
        ['update', 'Grace'],
        ['insert', null],
      ]);
    });
  });

  it('gives defaults to rows of many that leave all columns to them', async () => {
    await shop.sql(`create table line (id int generated always as identity primary key, c text default 'x');
      create table counter (id int generated always as identity primary key)`);
    const { problems } = await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const { rows } = await shop.data(
      'mutation { rows: create_many_line(input: [{}, { c: "y" }, {}, {}]) { id c } }',
    );
    expect(rows).to.deep.equal(['x', 'y', 'x', 'x'].map((c, index) => ({ id: String(index + 1), c })));
    expect(problems).to.include('counter: it is read-only, since PostgreSQL computes all of its columns');
    await shop.sql('drop table line, counter');
  });

  it("names the function of the tenant's that failed", async () => {
    await shop.sql(`create table watched (id int primary key);
      create table noted (id int unique deferrable);
      create function note_it() returns trigger language plpgsql as 'begin insert into nowhere values (1); return new; end';
      create trigger note_it before insert on watched for each row execute function note_it()`);
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const expectNoted = async (sqlstate: string, reason: string): Promise<void> => {
      const { errors } = await shop.ask('mutation { create_watched(input: { id: 1 }) { id } }');
      expect(errors![0]).to.deep.include({
        message: `The PL/pgSQL function note_it of the database failed${reason}.`,
      });
      expect(errors![0]!.extensions).to.include({ code: 'TENANT_CODE_FAILED', sqlstate });
    };
    await expectNoted('42P01', ': it names a table that does not exist');
    // Its own "on conflict" is not the caller's.
    await shop.sql(`create or replace function note_it() returns trigger language plpgsql as
      'begin insert into noted values (1) on conflict (id) do nothing; return new; end'`);
    await expectNoted('55000', ' with SQLSTATE 55000');
    await shop.sql('drop table watched, noted; drop function note_it');
  });

  it('rolls back the whole request at the first error', async () => {
    const reply = await shop.ask(`mutation {
      a: create_customer(input: { name: "A" }) { customer_id }
      b: create_customer(input: { name: "B", email: "ada@example.org" }) { customer_id }
      c: create_customer(input: { name: "C" }) { customer_id }
    }`);
    expect(reply.status).to.equal(200);
    expect(reply.data).to.equal(null);
    expect(reply.errors).to.have.length(1);
    expect(reply.errors![0]).to.deep.include({ path: ['b'] });
    expect(reply.errors![0]!.extensions).to.deep.include({
      code: 'UNIQUE_VIOLATION',
      table: 'customer',
      column: 'email',
    });
    expect(reply.body).not.to.match(/insert|select|ada@/i);
    expect(await shop.events()).to.be.empty;
    expect((await shop.data('{ customer { name } }')).customer).to.have.length(3);
    expect(shop.commits()).to.equal(0);
  });

  for (const [operation, mutation] of [
    ['insert', 'create_customer(input: { name: "x" })'],
    ['update', 'update_customer(customer_id: 1, input: { name: "x" })'],
    ['delete', 'delete_customer(customer_id: 3)'],
  ]) {
    it(`reports a rule that rewrites each ${operation} of the table`, async () => {
      await shop.sql(`create rule r as on ${operation} to customer do instead nothing`);
      const { errors, status } = await shop.ask(`mutation { m: ${mutation} { __typename } }`);
      expect(status).to.equal(200);
      expect(errors![0]!.extensions).to.deep.include({ code: 'READ_ONLY_TABLE', table: 'customer' });
      expect(errors![0]!.message).to.contain('A rule on customer');
      expect(await shop.events()).to.be.empty;
    });
  }
});

describe('mutations of /query that change nothing', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  const refused: [what: string, mutation: string, code: string, details?: object][] = [
    ['a missing row on update', 'update_customer(customer_id: 99, input: { name: "x" })', 'NOT_FOUND'],
    ['a missing row on delete', 'delete_customer(customer_id: 99)', 'NOT_FOUND'],
    [
      'null in a NOT NULL column',
      'create_customer(input: { email: "e" })',
      'NOT_NULL_VIOLATION',
      { column: 'name' },
    ],
    [
      'an unknown reference',
      'create_orders(input: { customer_id: 99 })',
      'FOREIGN_KEY_VIOLATION',
      { column: 'customer_id' },
    ],
    ['a broken check', 'create_orders(input: { customer_id: 1, status: "" })', 'CHECK_VIOLATION'],
    [
      'a value of the wrong type',
      'update_customer(customer_id: "x", input: { name: "x" })',
      'BAD_USER_INPUT',
      { table: 'customer', column: 'customer_id' },
    ],
    [
      'a text that is no date',
      'create_orders(input: { customer_id: 1, placed: "some day" })',
      'BAD_USER_INPUT',
      { table: 'orders', column: 'placed' },
    ],
    [
      'a number with too many digits',
      'create_orders(input: { customer_id: 1, total: 123456789012345 })',
      'BAD_USER_INPUT',
      { table: 'orders' },
    ],
    ['no input', 'create_customer', 'BAD_USER_INPUT'],
    ['nothing to change', 'update_customer(customer_id: 1, input: {})', 'BAD_USER_INPUT'],
    ['an unknown column', 'create_customer(input: { nam: "x" })', 'GRAPHQL_VALIDATION'],
  ];

  for (const [what, mutation, code, details] of refused) {
    it(`refuses ${what} with ${code}`, async () => {
      const { errors, data, body } = await shop.ask(`mutation { m: ${mutation} { __typename } }`);
      expect(data ?? null).to.equal(null);
      expect(errors).to.have.length(1);
      expect(errors![0]!.extensions).to.deep.include({ code, ...details });
      expect(body).not.to.match(/insert into|update "|select /i);
      expect(await shop.events()).to.be.empty;
    });
  }
});
