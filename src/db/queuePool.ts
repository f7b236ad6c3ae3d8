import pg from 'pg';
import type { Database } from './database.js';

/** The schema in which BullMQ keeps its tables when PostgreSQL is the queue. */
export const QUEUE_SCHEMA = 'bullmq';

/** Opens connections for BullMQ, whose statements name no schema. Ordinary ones: it holds some of them to LISTEN. */
export function openQueuePool(database: Database, size: number): pg.Pool {
  const base = database.pool.options;
  return new pg.Pool({
    ...base,
    max: size,
    pipeline: false,
    options: `${base.options ?? ''} -c search_path=${QUEUE_SCHEMA}`,
  });
}
