import { createPostgresBackend, Queue, runMigrations, Worker, type Job } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { TwinSettings } from './settings.js';

/** Events that have no delivery yet, or deliveries whose next attempt is due. */
export type Batch = { readonly events: readonly string[] } | { readonly deliveries: readonly string[] };

const NAME = 'twin';
const SCHEMA = 'bullmq';
const POOL_SIZE = 16;
/** Of a job, renewed by its worker: so long after a worker has died, another takes its jobs. */
const LOCK_MS = 10_000;

export async function openQueue({ store }: TwinSettings): Promise<Queue> {
  const { backend, ...options } = await connect(store);
  return new Queue(NAME, options, backend as never);
}

export async function openWorker(
  { store }: TwinSettings,
  concurrency: number,
  work: (batch: Batch) => Promise<void>,
): Promise<Worker> {
  const { backend, ...options } = await connect(store);
  const limits = { concurrency, lockDuration: LOCK_MS, stalledInterval: LOCK_MS / 2 };
  return new Worker(NAME, (job: Job<Batch>) => work(job.data), { ...options, ...limits }, backend as never);
}

async function connect(store: string) {
  if (store.startsWith('redis:')) {
    return {
      connection: new Redis(store, { maxRetriesPerRequest: null }),
      prefix: 'twin',
      backend: undefined,
    };
  }
  const connection = new pg.Pool({
    connectionString: store,
    options: `-c search_path=${SCHEMA}`,
    max: POOL_SIZE,
  });
  const client = await connection.connect();
  await runMigrations(client, SCHEMA);
  client.release();
  return { connection, prefix: SCHEMA, backend: createPostgresBackend };
}
