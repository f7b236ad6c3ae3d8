import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../db/pool/database.js';

/** Connections to PostgreSQL by purpose. */
export function registerPoolMetrics(
  registry: Registry,
  database: Pick<Database, 'poolUse'> & { readonly replicas: Pick<Database['replicas'], 'lags'> },
): void {
  const gauge = (name: string, help: string, valueOf: (use: PoolUse) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const use of database.poolUse()) this.set({ pool: use.pool }, valueOf(use));
      },
    });
  };
  gauge(
    'rowpost_pg_connections_in_use',
    'Connections that a statement or transaction has.',
    (use) => use.inUse,
  );
  gauge('rowpost_pg_connections_max', 'Connections that there may be: a part of PG_POOL.', (use) => use.max);
  gauge(
    'rowpost_pg_waiting',
    'Statements and transactions that wait for a connection.',
    (use) => use.waiting,
  );
  new Gauge({
    name: 'rowpost_replica_lag_seconds',
    help: 'How far a replica is behind, accurate to the second between heartbeats; absent for one that does not respond.',
    labelNames: ['replica'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, lagMs } of database.replicas.lags()) {
        if (lagMs !== undefined) this.set({ replica: name }, lagMs / 1000);
      }
    },
  });
}

type PoolUse = ReturnType<Database['poolUse']>[number];
