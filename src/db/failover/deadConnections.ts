import type pg from 'pg';
import { pollEvery } from '../../foundation/lifecycle/pollEvery.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import { backendOf, pendingStatement } from '../wire/index.js';
import type { Severable } from './primary.js';

/** A connection, as far as it waits for PostgreSQL. */
export type Waiting = pg.ClientBase & Severable;

const POLL_MS = 1_000;
/** Few statements take longer, so the server is rarely asked. */
const LATE_MS = 5_000;
const ASK_TIMEOUT_MS = 2_000;

/**
 * Breaks connections whose response can't come any more: the server has no such session, or has nothing to do in it. A network
 * that drops packets and a server that is replaced under its name break no connection, and TCP goes on for a quarter of an
 * hour.
 */
export function severDeadConnections(
  connections: Iterable<Waiting>,
  createClient: (config: pg.ClientConfig) => pg.Client,
): Stoppable {
  const waitingSinceMs = new WeakMap<object, number>();
  /** Statements that the server was not working for. Their responses may have been on the way. */
  const unserved = new WeakSet<object>();
  const poll = async (): Promise<void> => {
    const late = [...connections].flatMap((connection) => {
      const statement = pendingStatement(connection);
      if (!statement) return [];
      const sinceMs = waitingSinceMs.get(statement) ?? performance.now();
      waitingSinceMs.set(statement, sinceMs);
      return performance.now() - sinceMs < LATE_MS ? [] : [{ connection, statement }];
    });
    if (late.length === 0) return;
    const isBackendActive = await queryServer(createClient);
    for (const { connection, statement } of late) {
      if (pendingStatement(connection) !== statement || isBackendActive(backendOf(connection).processID))
        continue;
      if (unserved.has(statement)) connection.sever();
      else unserved.add(statement);
    }
  };
  // While the server is away, nothing is known.
  return pollEvery(POLL_MS, () => poll().catch(() => undefined));
}

/** @returns whether the server runs a statement in the session */
async function queryServer(
  createClient: (config: pg.ClientConfig) => pg.Client,
): Promise<(processID: number) => boolean> {
  const client = createClient({ connectionTimeoutMillis: ASK_TIMEOUT_MS, query_timeout: ASK_TIMEOUT_MS });
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(AT_WORK);
    const atWork = new Set(rows.map(({ pid }) => pid));
    // Something in between numbers sessions itself.
    const isTold = atWork.has(backendOf(client).processID);
    return (processID) => !isTold || atWork.has(processID);
  } finally {
    client.end().catch(() => undefined);
  }
}

/** The state of other roles' sessions is not told. */
const AT_WORK = `select pid from pg_catalog.pg_stat_activity where state is null or state not like 'idle%'`;
