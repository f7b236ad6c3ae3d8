import type pg from 'pg';

const READ_ONLY_SQL_TRANSACTION = '25006';

/**
 * A connection whose server takes no changes any more is closed when its user gives it back: the next one looks for the
 * server that does. For pools on which no statement of a tenant runs, which could raise the same error.
 */
export function closeWhenReadOnly(pool: pg.Pool): void {
  const readOnly = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    const { connection } = client as unknown as { readonly connection: Connection };
    connection.on('errorMessage', ({ code }) => {
      if (code === READ_ONLY_SQL_TRANSACTION) readOnly.add(client);
    });
  });
  // Before the pool looks whether it can be used again.
  pool.on('release', (_error, client) => {
    if (readOnly.has(client)) void (client as unknown as { end(): Promise<void> }).end();
  });
}

interface Connection {
  on(event: 'errorMessage', listener: (error: { readonly code?: string }) => void): unknown;
}
