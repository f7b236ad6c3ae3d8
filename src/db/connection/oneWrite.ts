import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';

/** Everything that `send` sends on the connection goes out in one write; otherwise each part would wake PostgreSQL. */
export function inOneWrite<T>(client: ClientBase, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
