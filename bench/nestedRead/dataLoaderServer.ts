// What most GraphQL servers do: graphql-js with a DataLoader per relation, behind graphql-http. No token, no policy.
// Arguments: <database url> <schema> <pool size>. Prints its port.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import DataLoader from 'dataloader';
import { buildSchema, parse, type DocumentNode } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import pg from 'pg';

const [url = '', tenantSchema = '', poolSize = '16'] = process.argv.slice(2);
const pool = new pg.Pool({
  connectionString: url,
  max: Number(poolSize),
  options: `-c jit=off -c search_path=${tenantSchema}`,
});

const schema = buildSchema(`
  type Query { customer(limit: Int): [customer] }
  type customer { customer_id: ID! name: String email: String city: String orders_collection(limit: Int): [orders] }
  type orders { order_id: ID! status: String total: Float createdate: String item_collection: [item] }
  type item { item_id: ID! product: String quantity: Int price: Float }
`);

type Row = Record<string, unknown>;

/** Rows of a table by a foreign key, one statement per batch. */
function childrenOf(
  table: string,
  foreignKey: string,
  resolveRow: (row: Row) => Row,
): DataLoader<number, Row[]> {
  return new DataLoader(async (keys) => {
    const { rows } = await pool.query<Row>(
      `select * from ${table} where ${foreignKey} = any($1::int[]) order by 1`,
      [keys],
    );
    const byKey = new Map<number, Row[]>(keys.map((key) => [key, []]));
    for (const row of rows) byKey.get(row[foreignKey] as number)?.push(resolveRow(row));
    return keys.map((key) => byKey.get(key) ?? []);
  });
}

function resolvers() {
  const items = childrenOf('item', 'order_id', (row) => row);
  const orders = childrenOf('orders', 'customer_id', (row) => ({
    ...row,
    item_collection: () => items.load(row['order_id'] as number),
  }));
  return {
    customer: async ({ limit }: { limit: number }) => {
      const { rows } = await pool.query<Row>('select * from customer order by customer_id limit $1', [limit]);
      return rows.map((row) => ({
        ...row,
        orders_collection: () => orders.load(row['customer_id'] as number),
      }));
    },
  };
}

// Fresh loaders per request; the document is parsed once, in the peer's favor.
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
