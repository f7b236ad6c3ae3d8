// The floor: the SQL that Rowpost sends, sent by pg alone and answered by Express; creates are a plain insert. No token,
// no policy, no tenant role, no event, no GraphQL. Arguments: <database url> <schema> <file with the SQL> <pool size>.
// Prints its port.
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pg from 'pg';
import type { RecordedStatement } from '../nestedRead/recordStatement.js';
import { KEY_PLACEHOLDER } from './shop.js';

interface Statements {
  readonly list: RecordedStatement;
  readonly single: RecordedStatement;
}

const [url = '', schema = '', sqlFile = '', poolSize = '16'] = process.argv.slice(2);
const { list, single } = JSON.parse(readFileSync(sqlFile, 'utf8')) as Statements;
const pool = new pg.Pool({
  connectionString: url,
  max: Number(poolSize),
  options: `-c jit=off -c search_path=${schema}`,
});

const app = express();
app.use(express.json());
app.post('/list', async (_request, response) => {
  const { rows } = await pool.query<[string]>({
    ...list,
    values: [...list.values],
    rowMode: 'array',
    name: 'list',
  });
  response.type('json').send(`{"data":{"orders":${rows[0]?.[0] ?? 'null'}}}`);
});
app.post('/single', async (request, response) => {
  const { key } = request.body as { key: number };
  const values = single.values.map((value) => (Number(value) === KEY_PLACEHOLDER ? key : value));
  const { rows } = await pool.query<[string]>({
    text: single.text,
    values,
    rowMode: 'array',
    name: 'single',
  });
  response.type('json').send(`{"data":{"orders":${rows[0]?.[0] ?? 'null'}}}`);
});
app.post('/create', async (request, response) => {
  const { order_id, product, quantity, price } = request.body as Record<string, unknown>;
  const { rows } = await pool.query({
    name: 'create',
    text: 'insert into item (order_id, product, quantity, price) values ($1, $2, $3, $4) returning item_id::text, product',
    values: [order_id, product, quantity, price],
  });
  response.json({ data: { create_item: rows[0] as unknown } });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
