import type pg from 'pg';

/** What waits, in PostgreSQL's source; messages are translated, and a tenant's code may raise any of them. */
const ROUTINE = 'SyncRepWaitForLSN';

/**
 * Breaks a connection on which the wait of a commit for its synchronous standby was canceled. PostgreSQL then reports
 * success with a warning, though the commit is gone if the standby takes over: callers take it for what it is, a
 * connection that broke before the commit was confirmed.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
export function breakOnCanceledReplicationWait(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: Connection };
  client.on('notice', ({ routine }) => {
    if (routine !== ROUTINE) return;
    // At once: PostgreSQL's confirmation may stand in the same packet, and a destroyed stream tells only later.
    connection.emit('error', new Error('the commit was not confirmed by the synchronous standby'));
    connection.stream.destroy();
  });
}

interface Connection {
  readonly stream: { destroy(): unknown };
  emit(event: 'error', error: Error): unknown;
}
