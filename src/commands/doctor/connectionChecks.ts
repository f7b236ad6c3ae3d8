import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import { divideConnections } from '../../db/pool/connectionBudget.js';
import { openDatabase, type Database, type DatabaseOptions } from '../../db/pool/database.js';
import { requireSessions } from '../../db/pool/pooler.js';
import { settingsNotInForce } from '../../db/pool/sessionSettings.js';
import { requireReachable } from '../../db/failover/reachability.js';
import type { Logger } from '../../foundation/observability/log.js';
import type { KeyRing } from '../../config/secrets.js';
import { bad, good, shortened, type Finding } from './check.js';

/** Maximum wait for a heartbeat to arrive. */
const REPLICA_CHECK_MS = 5_000;

/** Commands bypass the pooler, so this connects through it as a web process would, including the tenants' shared login. */
export async function checkPooler(
  config: Config,
  direct: Database,
  keyRing: KeyRing,
  log: Logger,
): Promise<Finding> {
  const { databaseUrl: url = '', databaseDirectUrl: directUrl, preparedStatements } = config;
  return withDatabase({ ...config, url, directUrl, keyRing, log }, async (database) => {
    await requireReachable(database.pool);
    await requireSessions(database, preparedStatements);
    const { shared } = await direct.tenants.names();
    const lease = await database.tenants.acquireShared();
    try {
      const problems = await settingsNotInForce(lease.client, database.settings);
      if (problems.length > 0) return bad(`for ${shared} ${problems.join('; ')}`, 'Run "rowpost release".');
    } finally {
      lease.release(true);
    }
    const names = preparedStatements ? 'with' : 'without';
    return good(`statement_timeout and all other settings are in force, ${names} prepared statements`);
  });
}

/** Checks replicas as a web process or worker sees them. */
export async function checkReplicas(config: Config, keyRing: KeyRing, log: Logger): Promise<Finding> {
  const { databaseUrl = '', databaseDirectUrl: url = databaseUrl, databaseReplicaUrls: replicaUrls } = config;
  const maxReplicaLagMs = 1000 * config.maxReplicaLagSeconds;
  const options = { ...config, url, directUrl: undefined, replicaUrls, maxReplicaLagMs, keyRing, log };
  return withDatabase(options, async (database) => {
    const deadlineMs = performance.now() + REPLICA_CHECK_MS;
    const isBehind = ({ lagMs }: { readonly lagMs: number | undefined }): boolean =>
      lagMs === undefined || lagMs > maxReplicaLagMs;
    // Known once a current heartbeat has arrived.
    while (database.replicas.lags().some(isBehind) && performance.now() < deadlineMs) await delay(100);
    const lags = database.replicas.lags();
    const late = lags.filter(isBehind).map(({ name }) => name);
    if (late.length > 0) {
      return bad(
        `${shortened(late)} ${late.length === 1 ? 'does not respond, or lags' : 'do not respond, or lag'} by more than ${REPLICA_CHECK_MS / 1000} s`,
        'Their reads go to the primary. Do they follow it? See pg_stat_replication there.',
      );
    }
    return good(`${lags.length === 1 ? 'one follows' : `${lags.length} follow`} the primary`);
  });
}

async function withDatabase(
  options: Omit<DatabaseOptions, 'budget' | 'applicationName'> & Pick<Config, 'pgPool'>,
  check: (database: Database) => Promise<Finding>,
): Promise<Finding> {
  const budget = divideConnections(options.pgPool, 'command', false);
  const database = openDatabase({ ...options, budget, applicationName: 'rowpost doctor' });
  try {
    return await check(database);
  } finally {
    await database.close();
  }
}
