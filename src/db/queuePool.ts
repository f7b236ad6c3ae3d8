import pg from 'pg';
import type { Database } from './database.js';

/** The schema in which BullMQ keeps its tables when PostgreSQL is the queue. */
export const QUEUE_SCHEMA = 'bullmq';

/** Opens connections for BullMQ, whose statements name no schema. Ordinary ones: it holds some of them to LISTEN. */
export function openQueuePool(database: Database, size: number): pg.Pool {
  const base = database.pool.options;
  const pool = new pg.Pool({
    ...base,
    max: size,
    pipeline: false,
    options: `${base.options ?? ''} -c search_path=${QUEUE_SCHEMA}`,
  });
  // A connection in use that breaks rejects its query; the error that it also emits must find a listener.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
