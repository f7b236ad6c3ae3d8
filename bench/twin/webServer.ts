// The twin's web process: inserts the item and its event in one transaction, responds, and nudges the relay.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { passWindow, settings } from './settings.js';

const POOL_SIZE = 16;
const INSERT = `with created as (insert into shop.item (order_id, product, quantity, price) values ($1, $2, $3, $4)
    returning item_id, order_id, product, quantity, price, written_ms),
  event as (insert into outbox (row) select to_json(created) from created)
  select item_id from created`;

const pool = new pg.Pool({ connectionString: settings.database, max: POOL_SIZE });

let isNudging = false;
let isNudgeDue = false;
async function nudge(): Promise<void> {
  isNudgeDue = true;
  if (isNudging) return;
  isNudging = true;
  while (isNudgeDue) {
    isNudgeDue = false;
    await pool.query({ name: 'nudge', text: 'notify twin' });
  }
  isNudging = false;
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    void insert(Buffer.concat(parts).toString()).then(
      (body) => {
        response.setHeader('content-type', 'application/json');
        response.end(body);
      },
      (error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      },
    );
  });
});

async function insert(body: string): Promise<string> {
  const { order_id, product, quantity, price } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  passWindow('W1');
  const values = [order_id, product, quantity, price];
  const { rows } = await pool.query<{ item_id: number }>({ name: 'insert', text: INSERT, values });
  passWindow('W2');
  void nudge();
  return JSON.stringify(rows[0]);
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
