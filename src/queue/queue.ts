import type { Config } from '../config.js';
import type { Database } from '../db/connection/database.js';
import type { Logger } from '../log.js';
import { createBullQueue } from './bullQueue.js';
import type { Queue } from './jobQueue.js';
import { connectPostgres, migratePostgresQueue } from './postgresConnections.js';
import { connectRedis } from './redisConnections.js';

export type { Queue } from './jobQueue.js';

/**
 * Opens the queue: Redis when `config.redisUrl` is set, else the same PostgreSQL. Throws UsageError, with what to set,
 * when it can't be reached or would lose jobs by its settings.
 */
export async function openQueue(config: Config, database: Database, log: Logger): Promise<Queue> {
  const connections =
    config.redisUrl === undefined
      ? await connectPostgres(database, log)
      : await connectRedis(config.redisUrl, config.queuePrefix, log);
  return createBullQueue(connections, log);
}

/** Brings the queue's own tables up to date. Redis needs none. */
export async function migrateQueue(config: Config, database: Database): Promise<void> {
  if (config.redisUrl === undefined) await migratePostgresQueue(database);
}
