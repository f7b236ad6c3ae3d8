import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../foundation/observability/log.js';
import type { Stoppable } from '../../foundation/lifecycle/shutdown.js';
import { statement } from '../sql/sql.js';
import type { Database } from './database.js';
import { startListening } from './listening.js';

/** Channels have names that no other role knows: see `rowpost.hidden_channel`. */
const WAKE = `select rowpost.notify('rowpost_relay', '')`;
const LISTEN = statement`select rowpost.listen_to('rowpost_relay')`;

/** Minimum pause between two wake-ups of one process: a multiple of the last round trip, within these bounds. */
const PAUSE_ROUND_TRIPS = 5;
const PAUSE_MS = { min: 2, max: 4 } as const;
/** The number of mutations since the last wake-up that lengthens the next pause by one step. */
const MUTATIONS_A_STEP = 3;
const MAX_STEPS = 5;

export interface RelayWaker extends Stoppable {
  /** Tells the relays that a mutation was committed. Returns immediately; a lost wake-up costs one poll interval. */
  wake(): void;
}

/**
 * Wakes the relays of all processes. NOTIFY inside the mutation's transaction would take a database-wide lock at commit;
 * sent separately after the commit, and debounced, it delays nobody. Each wake-up costs a transaction here and a poll of
 * the relay there, so the slower it is and the more mutations there are, the more of them share one.
 */
export function createRelayWaker(deps: { readonly database: Database; readonly log: Logger }): RelayWaker {
  let mutations = 0;
  let busy: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    while (mutations > 0) {
      const told = mutations;
      mutations = 0;
      const startedAtMs = performance.now();
      try {
        await deps.database.pool.query(WAKE);
      } catch (error) {
        deps.log.debug({ err: error }, 'the relay could not be woken; it will poll');
      }
      await delay(pauseAfter(performance.now() - startedAtMs, told));
    }
    busy = undefined;
  };
  return {
    wake() {
      mutations += 1;
      busy ??= send();
    },
    async stop() {
      await busy;
    },
  };
}

function pauseAfter(roundTripMs: number, mutations: number): number {
  const step = Math.min(Math.max(PAUSE_ROUND_TRIPS * roundTripMs, PAUSE_MS.min), PAUSE_MS.max);
  return step * Math.min(1 + mutations / MUTATIONS_A_STEP, MAX_STEPS);
}

/** See `startListening`. The relay polls while the database is away. */
export function listenForWakeups(
  { database, log }: { readonly database: Database; readonly log: Logger },
  onWake: () => void,
): Stoppable {
  return startListening({ createClient: database.createClient, listen: LISTEN, log }, onWake);
}
