import { createPostgresBackend, runMigrations, type BackendFactory, type IQueueBackend } from 'bullmq';
import { replaceAdvisoryLocks } from '../db/schema/queueLocks.js';
import { requireQueueSchema } from '../db/schema/queueSchema.js';
import { QUEUE_SCHEMA, type Database } from '../db/pool/database.js';
import { UsageError } from '../foundation/errors.js';
import type { Logger } from '../foundation/observability/log.js';
import type { QueueConnections } from './queueConnections.js';
import { logOutages } from './outageLog.js';

/** Queues in the same PostgreSQL. Throws UsageError when `migratePostgresQueue` has not run, or as it does. */
export async function connectPostgres(database: Database, log: Logger): Promise<QueueConnections> {
  const pool = database.openQueuePool();
  pool.on('error', logOutages(log, 'queue in PostgreSQL'));
  const check = async (): Promise<void> => {
    await pool.query('select 1 from migration limit 1');
  };
  try {
    await requireQueueSchema(database.pool, QUEUE_SCHEMA);
    await check();
  } catch (error) {
    await pool.end();
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `the queue in PostgreSQL can't be used (${(error as Error).message}): run "rowpost release" first`,
    );
  }
  return {
    producer: pool,
    consumer: pool,
    prefix: QUEUE_SCHEMA,
    backend: createPostgresBackend as unknown as BackendFactory<IQueueBackend, object>,
    check,
    close: () => pool.end(),
  };
}

/**
 * Creates or migrates BullMQ's tables. Safe to run concurrently: the second process waits for the first. Throws UsageError if the
 * schema belongs to somebody else, whose functions would run with the service's rights.
 */
export async function migratePostgresQueue(database: Database): Promise<void> {
  await requireQueueSchema(database.pool, QUEUE_SCHEMA);
  const pool = database.openQueuePool();
  const client = await pool.connect();
  try {
    await runMigrations(client, QUEUE_SCHEMA);
    await replaceAdvisoryLocks(client);
  } finally {
    client.release();
    await pool.end();
  }
}
