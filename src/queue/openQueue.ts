import type { Config } from '../config/config.js';
import type { Database } from '../db/pool/database.js';
import type { Logger } from '../foundation/observability/log.js';
import { createBullQueue } from './bullQueue.js';
import type { Queue } from './queue.js';
import { connectPostgres, migratePostgresQueue } from './postgresConnections.js';
import { connectRedis } from './redisConnections.js';

/**
 * Opens the queue: Redis if `config.redisUrl` is set, else PostgreSQL. Throws UsageError, naming the setting to change,
 * when the store is unreachable or configured to lose jobs.
 */
export async function openQueue(config: Config, database: Database, log: Logger): Promise<Queue> {
  const connections =
    config.redisUrl === undefined
      ? await connectPostgres(database, log)
      : await connectRedis(config.redisUrl, config.queuePrefix, log);
  return createBullQueue(connections, log);
}

/** Migrates the queue's own tables. Redis has none. */
export async function migrateQueue(config: Config, database: Database): Promise<void> {
  if (config.redisUrl === undefined) await migratePostgresQueue(database);
}
