import type pg from 'pg';
import { READ_ONLY } from '../sql/sqlState.js';
import { endPooled, onErrorCode } from '../wire/index.js';

/**
 * Closes a connection on release if its server no longer accepts changes, so that the next one looks for a server that
 * does. Only for pools that run no tenants' statements, which could raise the same error.
 */
export function closeWhenReadOnly(pool: pg.Pool): void {
  const readOnly = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    onErrorCode(client, (code) => {
      if (code === READ_ONLY) readOnly.add(client);
    });
  });
  // Runs before the pool decides whether to reuse the connection.
  pool.on('release', (_error, client) => {
    if (readOnly.has(client)) endPooled(client);
  });
}
