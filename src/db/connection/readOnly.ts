import type pg from 'pg';

const READ_ONLY_SQL_TRANSACTION = '25006';

/**
 * Closes a connection on release if its server no longer accepts changes, so that the next one looks for a server that
 * does. Only for pools that run no tenants' statements, which could raise the same error.
 */
export function closeWhenReadOnly(pool: pg.Pool): void {
  const readOnly = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    const { connection } = client as unknown as { readonly connection: Connection };
    connection.on('errorMessage', ({ code }) => {
      if (code === READ_ONLY_SQL_TRANSACTION) readOnly.add(client);
    });
  });
  // Runs before the pool decides whether to reuse the connection.
  pool.on('release', (_error, client) => {
    if (readOnly.has(client)) void (client as unknown as { end(): Promise<void> }).end();
  });
}

interface Connection {
  on(event: 'errorMessage', listener: (error: { readonly code?: string }) => void): unknown;
}
