import type pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import type { SqlText } from '../sql/sql.js';

const RECONNECT_MS = 1_000;

interface ListeningOptions {
  /** Makes a connection that is not open yet. */
  readonly createClient: () => pg.Client;
  readonly listen: SqlText;
  readonly log: Logger;
}

/**
 * Calls `onNotice` for each notification, and once after every (re)connect, since those in between were missed. Survives the
 * database being away: whoever listens also polls.
 */
export function startListening(
  { createClient, listen, log }: ListeningOptions,
  onNotice: () => void,
): Stoppable {
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  const reconnectLater = (): void => {
    client = undefined;
    if (!stopped) timer = setTimeout(connect, RECONNECT_MS);
  };
  const connect = (): void => {
    const next = createClient();
    client = next;
    let ended = false;
    const onEnd = (error?: unknown): void => {
      if (ended) return;
      ended = true;
      if (!stopped) log.debug({ err: error, listen }, 'a connection that listens broke; polling meanwhile');
      next.end().catch(() => undefined);
      reconnectLater();
    };
    next.on('error', onEnd);
    next.on('end', onEnd);
    next.on('notification', onNotice);
    next
      .connect()
      .then(() => next.query(listen))
      .then(onNotice, onEnd);
  };
  connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await client?.end();
    },
  };
}
