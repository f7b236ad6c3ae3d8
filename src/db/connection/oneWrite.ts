import type { Duplex } from 'node:stream';
import type { ClientBase } from 'pg';

/** What is sent on the connection meanwhile leaves in one write: else PostgreSQL would be woken for each part of it. */
export function inOneWrite<T>(client: ClientBase, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
