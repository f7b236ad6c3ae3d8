// The least that an email for a row takes: `web` inserts the row, adds a BullMQ job after the commit and responds; `worker`
// takes the job and calls @sendgrid/mail. Nothing is lost only while nothing fails.
//   node bareHop.mjs web|worker '{"database": …, "store": …, "carrier": …, "concurrency": …}'
import { createServer } from 'node:http';
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createSend } from './bareSend.mjs';

const SCHEMA = 'bullmq';
const QUEUE = 'hop';
const POOL_SIZE = 16;
const INSERT = `insert into public.bare_item (product) values ($1)
  returning item_id, (extract(epoch from clock_timestamp()) * 1000)::text as written_ms`;

const [, , role, json] = process.argv;
const { database, store, carrier, concurrency } = JSON.parse(json);
const { options, backend } = await connect();
if (role === 'web') await serve();
else {
  const send = createSend(carrier);
  new Worker(
    QUEUE,
    async ({ data }) => {
      await send(data.id, data.subject);
    },
    { ...options, concurrency },
    backend,
  );
  process.stdout.write('0\n');
}

async function serve() {
  const rows = new pg.Pool({ connectionString: database, max: POOL_SIZE });
  await rows.query(
    'create table if not exists public.bare_item (item_id bigint generated always as identity primary key, product text not null)',
  );
  const queue = new Queue(QUEUE, options, backend);
  const server = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', async () => {
      try {
        const { product } = JSON.parse(Buffer.concat(parts).toString());
        const { item_id, written_ms } = (await rows.query({ name: 'insert', text: INSERT, values: [product] })).rows[0];
        const data = { id: item_id, subject: `timed ${item_id} ${written_ms}` };
        await queue.add('send', data, { removeOnComplete: true });
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ item_id }));
      } catch (error) {
        response.statusCode = 500;
        response.end(String(error));
      }
    });
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
}

async function connect() {
  if (store.startsWith('redis:')) {
    return { options: { connection: new Redis(store, { maxRetriesPerRequest: null }) }, backend: undefined };
  }
  const connection = new pg.Pool({
    connectionString: store,
    options: `-c search_path=${SCHEMA}`,
    max: POOL_SIZE,
  });
  const client = await connection.connect();
  await runMigrations(client, SCHEMA);
  client.release();
  return { options: { connection, prefix: SCHEMA }, backend: createPostgresBackend };
}
