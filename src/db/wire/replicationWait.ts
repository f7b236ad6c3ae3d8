import type pg from 'pg';
import { internalsOf } from './pgClient.js';

/** The function in PostgreSQL's source: messages are translated, and tenants' code may raise any of them. */
const ROUTINE = 'SyncRepWaitForLSN';

/**
 * Breaks a connection on which a commit's wait for its synchronous standby was canceled. PostgreSQL then reports success
 * with a warning, although the commit is lost if the standby takes over. Callers see it as what it is: a connection that
 * broke before the commit was confirmed.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
export function breakOnCanceledReplicationWait(client: pg.ClientBase): void {
  const { connection } = internalsOf(client);
  client.on('notice', ({ routine }) => {
    if (routine !== ROUTINE) return;
    // Emitted now: PostgreSQL's confirmation may be in the same packet, and destroying the stream only reports later.
    connection.emit('error', new Error('the commit was not confirmed by the synchronous standby'));
    connection.stream.destroy();
  });
}
