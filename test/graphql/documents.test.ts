import { expect } from 'chai';
import type { GraphqlResponse } from '../../src/graphql/dataEngine.js';
import { openShop, roleWith, SHOP_DDL, type Reply, type Shop } from './support/shop.js';

describe('documents of /query', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(SHOP_DDL)));
  after(() => shop.close());

  const refusedWith = async (
    query: string,
    code: string,
    variables?: Record<string, unknown>,
  ): Promise<Reply> => {
    const reply = await shop.ask(query, variables);
    expect(reply.status).to.equal(400);
    expect(reply).not.to.have.property('data');
    expect(reply.errors![0]!.extensions).to.include({ code });
    return reply;
  };

  it('reports syntax and validation errors with their position', async () => {
    expect(
      await refusedWith('{ customer { name }', 'GRAPHQL_SYNTAX').then((reply) => reply.errors![0]),
    ).to.have.property('locations');
    await refusedWith('{ customer { nam } }', 'GRAPHQL_VALIDATION');
    await refusedWith('{ customers { name } }', 'GRAPHQL_VALIDATION');
    await refusedWith('query a { __typename } query b { __typename }', 'GRAPHQL_VALIDATION');
    await refusedWith('subscription { customer { name } }', 'GRAPHQL_VALIDATION');
    await refusedWith('query ($limit: Int!) { customer(limit: $limit) { name } }', 'BAD_USER_INPUT', {
      limit: 'many',
    });
  });

  it('refuses null for a variable with a default value where a value is required', async () => {
    for (const query of [
      'query ($v: Boolean = true) { customer(limit: 1) { name @skip(if: $v) email } }',
      'query ($v: Boolean = true) { ...all @include(if: $v) } fragment all on Query { customer { name } }',
      'query ($v: Boolean = true) { customer { ...who } } fragment who on customer { name @skip(if: $v) email }',
      'query ($v: String = "Query") { __type(name: $v) { name } }',
      'mutation ($v: ID = 1) { update_customer(customer_id: $v, input: { name: "Ada" }) { name } }',
      'mutation ($v: customerInput = { name: "Ada" }) { create_many_customer(input: [$v]) { name } }',
    ]) {
      const { errors } = await refusedWith(query, 'BAD_USER_INPUT', { v: null });
      expect(errors![0]!.message).to.equal(
        'Variable "$v" must not be null: it is used where a value is required.',
      );
      if (query.startsWith('query')) expect(await shop.ask(query), query).not.to.have.property('errors');
    }
    const optional = 'query ($v: Int = 1) { customer(limit: $v) { name } }';
    expect(await shop.ask(optional, { v: null })).not.to.have.property('errors');
  });

  it('limits documents before processing them', async () => {
    const nested = `${'{ customer { orders_collection '.repeat(8)}{ order_id }${'} }'.repeat(8)}`;
    for (const query of [
      nested,
      '{'.repeat(50_000),
      `{ ${Array.from({ length: 10_000 }, (_, i) => `a${i}: customer { name }`).join(' ')} }`,
      `{ customer { ${'name '.repeat(60)} } }`,
      `{ customer(filter: "${'x'.repeat(10)}") { name } ${'a '.repeat(30_000)} }`,
      // each fragment uses the next one ten times: 10^12 fields
      `{ customer { ...f0 } } ${Array.from({ length: 12 }, (_, i) => `fragment f${i} on customer { ${Array.from({ length: 10 }, (_, j) => `a${j}: orders_collection { customer { ${i < 11 ? `...f${i + 1}` : 'name'} } }`).join(' ')} }`).join(' ')}`,
    ]) {
      const startedAt = performance.now();
      await refusedWith(query, 'DOCUMENT_TOO_COMPLEX');
      expect(performance.now() - startedAt, query.slice(0, 50)).to.be.below(10_000);
    }
  });

  it('limits responses, whatever the list limits would allow', async () => {
    const small = await openShop(SHOP_DDL, { MAX_RESPONSE_BYTES: '1024' });
    try {
      await small.sql("insert into customer (name) select repeat('x', 100) from generate_series(1, 20)");
      const reply = await small.ask('{ customer { name } }');
      expect(reply.errors![0]).to.deep.include({ path: ['customer'] });
      expect(reply.errors![0]!.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
      expect((await small.data('{ customer(limit: 5) { name } }')).customer).to.have.length(5);
      const nested = 'mutation { update_orders(order_id: 1, input: {customer_id: 4}) { customer { name } } }';
      expect((await small.data(nested)).update_orders).to.have.property('customer');
    } finally {
      await small.close();
    }
  });

  it('limits a response across all root fields', async () => {
    const small = await openShop(SHOP_DDL, { MAX_RESPONSE_BYTES: '100000', PG_POOL: '4' });
    try {
      await small.sql("insert into customer (name) select repeat('x', 30000) from generate_series(1, 3)");
      const aliases = (count: number): string =>
        Array.from(
          { length: count },
          (_, i) => `a${i}: customer(limit: 1, filter: "name like 'xxx%'") { name }`,
        ).join(' ');
      for (let time = 0; time < 4; time++) {
        const reply = await small.ask(`{ ${aliases(200)} }`);
        expect(reply.errors![0]!.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
        expect(reply.errors![0]!.message).to.include('MAX_RESPONSE_BYTES');
        expect(reply.data).to.equal(null);
      }
      expect(await small.data(`{ ${aliases(3)} }`)).to.have.keys('a0', 'a1', 'a2');
      // What was written stays written, and the caller is told so.
      const change = (index: number): string =>
        `u${index}: update_customer(customer_id: 1, input: {country: "c${index}"}) { customer_id name email country }`;
      await small.sql(
        "update customer set customer_id = 1 where customer_id = (select min(customer_id) from customer where name like 'xxx%') and not exists (select from customer where customer_id = 1)",
      );
      await small.sql("update customer set name = repeat('y', 30000) where customer_id = 1");
      const written = await small.ask(
        `mutation { ${Array.from({ length: 8 }, (_, i) => change(i)).join(' ')} }`,
      );
      expect(written.errors![0]!.extensions.code, written.body.slice(0, 300)).to.equal('OUTCOME_UNKNOWN');
      expect(written.errors![0]!.message).to.include('The changes were made');
      expect(await small.data('{ customer(filter: "customer_id = 1") { country } }')).to.deep.equal({
        customer: [{ country: 'c7' }],
      });
    } finally {
      await small.close();
    }
  });

  it('refuses large responses while the process is at its limit, and accepts them afterwards', async () => {
    const small = await openShop(SHOP_DDL, { MAX_RESPONSES_IN_FLIGHT_BYTES: '100000' });
    try {
      await small.sql("insert into customer (name) values (repeat('x', 60000))");
      const query = `{ customer(filter: "name like 'xxx%'") { name } }`;
      const execute = (): Promise<GraphqlResponse> =>
        small.engine.execute(small.root, { query }, { allowMutation: false });
      const first = await execute();
      const refused = await execute();
      expect(refused).to.include({ status: 503, retryAfterSeconds: 1 });
      expect(refused.body).to.include('TOO_BUSY');
      first.release!();
      expect((await execute()).status).to.equal(200);
    } finally {
      await small.close();
    }
  });

  it('allows introspection only where enabled', async () => {
    const closed = await openShop(SHOP_DDL, { GRAPHQL_INTROSPECTION: 'no' });
    try {
      for (const query of ['{ __schema { types { name } } }', '{ __type(name: "customer") { name } }']) {
        expect((await closed.ask(query)).errors![0]!.extensions.code).to.equal('GRAPHQL_VALIDATION');
      }
      expect(await closed.data('{ __typename customer(limit: 1) { __typename } }')).to.deep.equal({
        __typename: 'Query',
        customer: [{ __typename: 'customer' }],
      });
    } finally {
      await closed.close();
    }
  });

  it('serves introspection along with data', async () => {
    const data = await shop.data(
      '{ __schema { queryType { name } } mine: __type(name: "customer") { name } customer(limit: 1) { name } }',
    );
    expect(data).to.deep.equal({
      __schema: { queryType: { name: 'Query' } },
      mine: { name: 'customer' },
      customer: [{ name: 'Ada' }],
    });
  });

  it('rejects mutations where only queries are allowed', async () => {
    const response = await shop.engine.execute(
      shop.root,
      { query: 'mutation { delete_customer(customer_id: 1) { name } }' },
      { allowMutation: false },
    );
    expect(response.status).to.equal(405);
    expect(await shop.events()).to.deep.equal([]);
  });

  it('selects the operation by name', async () => {
    const query = 'query a { customer(limit: 1) { name } } query b { orders(limit: 1) { order_id } }';
    const response = await shop.engine.execute(
      shop.root,
      { query, operationName: 'b' },
      { allowMutation: true },
    );
    expect(response.body).to.equal('{"data":{"orders":[{"order_id":"1"}]}}');
  });

  it('uses one plan per filter shape', async () => {
    const query = 'query ($f: String, $o: [String]) { customer(filter: $f, ordering: $o) { name } }';
    const names = async (f: unknown, o: unknown = null): Promise<unknown> =>
      (await shop.data(query, { f, o })).customer!;
    expect(await names("name = 'Ada'")).to.deep.equal([{ name: 'Ada' }]);
    expect(await names("name = 'Grace'")).to.deep.equal([{ name: 'Grace' }]);
    expect(await names("name != 'Grace'", 'name desc')).to.deep.equal([{ name: 'Linus' }, { name: 'Ada' }]);
    expect(await names('')).to.deep.equal([{ name: 'Ada' }, { name: 'Grace' }, { name: 'Linus' }]);
  });

  it('reports a bad filter at its field', async () => {
    const reply = await shop.ask(
      'query ($f: String) { customer(filter: $f) { name } orders(limit: 1) { order_id } }',
      {
        f: 'name = ',
      },
    );
    expect(reply.status).to.equal(200);
    expect(reply.data).to.deep.equal({ customer: null, orders: [{ order_id: '1' }] });
    expect(reply.errors![0]).to.deep.include({ path: ['customer'] });
    expect(reply.errors![0]!.extensions).to.include({ code: 'FILTER_SYNTAX', line: 1 });
  });

  it('suggests how to rewrite an expression that joins too many tables', async () => {
    const many = (column: string): string =>
      Array.from({ length: 40 }, (_, n) => `${column} = 'c${n}'`).join(' or ');
    const reply = await shop.ask('query ($f: String) { orders(filter: $f) { order_id } }', {
      f: many('customer.country'),
    });
    const { code, hint } = reply.errors![0]!.extensions;
    expect(code).to.equal('FILTER_TOO_COMPLEX');
    expect(hint).to.include("customer.country in ['SE', 'NO']");
    expect(
      (await shop.data('query ($f: String) { orders(filter: $f) { order_id } }', { f: many('status') }))
        .orders,
    ).to.be.an('array');
  });

  it('caps lists at every level', async () => {
    const small = await openShop(SHOP_DDL, { LIST_DEFAULT_LIMIT: '1', LIST_MAX_LIMIT: '2' });
    try {
      expect((await small.data('{ customer { orders_collection { order_id } } }')).customer).to.deep.equal([
        { orders_collection: [{ order_id: '1' }] },
      ]);
      expect((await small.data('{ customer(limit: 1000) { name } }')).customer).to.have.length(2);
      const reply = await small.ask('{ customer(limit: -1) { name } }');
      expect(reply.errors![0]!.extensions.code).to.equal('BAD_USER_INPUT');
    } finally {
      await small.close();
    }
  });

  it('reloads the tables on demand, for administrators', async () => {
    const { Utility } = (await shop.data('{ Utility { introspect __typename } }')) as unknown as {
      Utility: { introspect: object; __typename: string };
    };
    expect(Utility.__typename).to.equal('Utility');
    expect(Utility.introspect).to.have.all.keys('gql', 'json');
    const reply = await shop.ask('{ Utility { introspect } }', {}, roleWith(shop, ['select']));
    expect(reply.errors![0]!.extensions.code).to.equal('PERMISSION_DENIED');
  });
});
