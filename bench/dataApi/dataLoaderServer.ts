// What a good hand would write: graphql-js with a DataLoader per relation, behind graphql-http. No token, no policy, no
// event. Arguments: <database url> <schema> <pool size>. Prints its port.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import DataLoader from 'dataloader';
import { buildSchema, parse, type DocumentNode } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import pg from 'pg';

const [url = '', tenantSchema = '', poolSize = '16'] = process.argv.slice(2);
// Timestamps as PostgreSQL writes them, in the contender's favor.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => text);
const pool = new pg.Pool({
  connectionString: url,
  max: Number(poolSize),
  options: `-c jit=off -c search_path=${tenantSchema}`,
});

const schema = buildSchema(`
  type Query { orders(limit: Int): [orders], order(order_id: ID!): orders }
  type Mutation { create_item(input: itemInput!): item }
  type orders { order_id: ID! status: String total: Float createdate: String item_collection: [item] }
  type item { item_id: ID! product: String quantity: Int price: Float }
  input itemInput { order_id: Int! product: String! quantity: Int! price: Float! }
`);

type Row = Record<string, unknown>;

async function rowsOf(name: string, text: string, values: unknown[]): Promise<Row[]> {
  return (await pool.query<Row>({ name, text, values })).rows;
}

function resolvers() {
  const items = new DataLoader<number, Row[]>(async (keys) => {
    const rows = await rowsOf(
      'items',
      'select * from item where order_id = any($1::int[]) order by item_id',
      [keys],
    );
    const byKey = new Map<number, Row[]>(keys.map((key) => [key, []]));
    for (const row of rows) byKey.get(row['order_id'] as number)?.push(row);
    return keys.map((key) => byKey.get(key) ?? []);
  });
  const withItems = (row: Row): Row => ({
    ...row,
    item_collection: () => items.load(row['order_id'] as number),
  });
  return {
    orders: async ({ limit }: { limit: number }) =>
      (await rowsOf('orders', 'select * from orders order by order_id limit $1', [limit])).map(withItems),
    order: async ({ order_id }: { order_id: string }) => {
      const [row] = await rowsOf('order', 'select * from orders where order_id = $1', [order_id]);
      return row && withItems(row);
    },
    create_item: async ({ input }: { input: Row }) => {
      const text =
        'insert into item (order_id, product, quantity, price) values ($1, $2, $3, $4) returning *';
      const { order_id, product, quantity, price } = input;
      return (await rowsOf('create', text, [order_id, product, quantity, price]))[0];
    },
  };
}

// Fresh loaders per request; documents are parsed once, in the contender's favor.
const documents = new Map<string, DocumentNode>();
const handle = createHandler({
  schema,
  onSubscribe: (_request, { query, variables }) => {
    const document = documents.get(query) ?? parse(query);
    documents.set(query, document);
    return { schema, document, rootValue: resolvers(), variableValues: variables };
  },
});
const server = createServer((request, response) => {
  void handle(request, response);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
