import pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import { IDLE_TIMEOUT_MS, type Connector } from './connector.js';
import { breakOnCanceledReplicationWait, limitMessages, type StatementTrace } from '../wire/index.js';
import { dropStatementNames } from './preparedStatements.js';
import { closeWhenReadOnly } from './readOnly.js';
import { traceClient } from './statementTrace.js';

/** A pool of the service's own connections to the primary. */
export function openServicePool(
  connector: Connector,
  options: {
    readonly config: pg.PoolConfig;
    /** Whether statements may be prepared under a name. */
    readonly namesStatements: boolean;
    readonly trace: StatementTrace | undefined;
    readonly log: Logger;
  },
): pg.Pool {
  const { config, namesStatements, trace, log } = options;
  const pool = openWatchedPool(connector, config, log);
  pool.on('connect', (client) => {
    limitMessages(client);
    breakOnCanceledReplicationWait(client);
    if (!namesStatements) dropStatementNames(client);
    if (trace) traceClient(client, trace);
  });
  closeWhenReadOnly(pool);
  return pool;
}

/** A pool whose broken connections do not end the process. */
export function openWatchedPool(connector: Connector, config: pg.PoolConfig, log: Logger): pg.Pool {
  const pool = new pg.Pool({
    ...connector.config,
    Client: connector.Client,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    ...config,
  });
  // An idle connection that breaks (PostgreSQL restarted) is replaced by the pool at the next use.
  pool.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke'));
  // One that breaks while in use rejects its user's statements. The error it also emits would end the process if nobody
  // listened.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}
