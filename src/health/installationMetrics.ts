import type { Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import type { Database } from '../db/pool/database.js';
import type { Logger } from '../foundation/observability/log.js';
import { registerBacklogMetrics } from './backlogMetrics.js';
import { createBacklogReader, type BacklogReader } from './backlogReader.js';
import { registerPoolMetrics } from './poolMetrics.js';
import { registerPostgresMetrics } from './postgresMetrics.js';

/** What a process reports besides its own work. @returns the backlog that it reports */
export function registerInstallationMetrics(
  registry: Registry,
  deps: { readonly database: Database; readonly config: Config; readonly log: Logger },
): BacklogReader {
  const { database, config, log } = deps;
  const readBacklog = createBacklogReader({ ledger: database.ledger, log }, config.backlogAlarmSeconds);
  registerBacklogMetrics(registry, readBacklog);
  registerPoolMetrics(registry, database);
  registerPostgresMetrics(registry, database, log);
  return readBacklog;
}
