import type { ClientBase } from 'pg';
import { internalsOf } from './pgClient.js';

/** Everything that `send` sends on the connection goes out in one write; otherwise each part would wake PostgreSQL. */
export function inOneWrite<T>(client: ClientBase, send: () => T): T {
  const { stream } = internalsOf(client).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
