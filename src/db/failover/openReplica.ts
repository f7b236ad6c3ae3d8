import type { Connector } from '../pool/connector.js';
import { Replica } from './replica.js';
import { openWatchedPool } from '../pool/servicePool.js';
import type { StatementTrace } from '../wire/index.js';
import { TenantConnections, type TenantConnectionsOptions } from '../isolation/tenantConnections.js';
import { Transactions } from '../pool/transactions.js';

/** The service's own connections per replica, for heartbeats and event checks. */
const SERVICE_CONNECTIONS = 2;

/** Opens a standby for reads. */
export function openReplica(options: {
  readonly connector: Connector;
  readonly tenants: Pick<
    TenantConnectionsOptions,
    'primary' | 'settings' | 'keyRing' | 'max' | 'acquireTimeoutMs' | 'log'
  >;
  readonly transactions: { readonly timeoutMs: number; readonly trace: StatementTrace | undefined };
  /** Repeats what the replica fails. */
  readonly primary: Transactions;
}): Replica {
  const { connector, primary } = options;
  const { log } = options.tenants;
  const pool = openWatchedPool(connector, { max: SERVICE_CONNECTIONS, pipeline: true }, log);
  const tenants = new TenantConnections({
    ...options.tenants,
    pool,
    connector,
    direct: connector,
    isPooled: false,
  });
  const transactions = new Transactions(tenants, {
    ...options.transactions,
    canceler: { ...connector, isPooled: false },
    preparedStatements: true,
  });
  const name = `${connector.config.host ?? ''}:${connector.config.port ?? ''}`;
  return new Replica({ name, connector, pool, tenants, transactions, primary, log });
}
