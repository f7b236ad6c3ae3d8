// BullMQ, on Redis or on PostgreSQL.
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { bulks, createSend, runSender } from './bareSend.mjs';

const QUEUE = 'send';
const SCHEMA = 'bullmq';
const POOL_SIZE = 16;

await runSender({
  async fill({ store, events }) {
    const { options, backend, close } = await connect(store);
    const queue = new Queue(QUEUE, options, backend);
    for (const ids of bulks(events)) {
      await queue.addBulk(ids.map((id) => ({ name: 'send', data: { id }, opts: { removeOnComplete: true } })));
    }
    await queue.close();
    await close();
  },
  async work({ store, carrier, concurrency }) {
    const send = createSend(carrier);
    const { options, backend } = await connect(store);
    const process = async (job) => {
      await send(job.data.id);
    };
    new Worker(QUEUE, process, { ...options, concurrency }, backend);
  },
});

async function connect(store) {
  if (store.startsWith('redis:')) {
    const connection = new Redis(store, { maxRetriesPerRequest: null });
    return { options: { connection }, backend: undefined, close: () => connection.disconnect() };
  }
  const connection = new pg.Pool({
    connectionString: store,
    options: `-c search_path=${SCHEMA}`,
    max: POOL_SIZE,
  });
  const client = await connection.connect();
  await runMigrations(client, SCHEMA);
  client.release();
  return {
    options: { connection, prefix: SCHEMA },
    backend: createPostgresBackend,
    close: () => connection.end(),
  };
}
