import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../db/connection/database.js';
import { readBacklog, type Backlog } from '../db/delivery/backlog.js';
import type { Logger } from '../log.js';

/** Cached, so that several scrapers cost no more than one. */
const CACHE_MS = 5_000;
/** The other metrics don't wait for the database any longer. */
const QUERY_TIMEOUT_MS = 1_000;

type Figure = readonly [name: string, help: string, read: (backlog: Backlog) => number];

const FIGURES: readonly Figure[] = [
  ['rowpost_events_unread', 'Committed events that no relay has read.', (now) => now.unreadEvents],
  [
    'rowpost_batches_waiting',
    'Batches of events whose rules are not evaluated yet.',
    (now) => now.openBatches,
  ],
  [
    'rowpost_batches_waiting_seconds',
    'How long the oldest of them has waited.',
    (now) => now.openBatchSeconds ?? 0,
  ],
  ['rowpost_deliveries_waiting', 'Deliveries to be sent now, or being sent.', (now) => now.waiting],
  [
    'rowpost_deliveries_waiting_seconds',
    'How long the oldest of them has waited.',
    (now) => now.waitingSeconds ?? 0,
  ],
  [
    'rowpost_deliveries_later',
    'Deliveries that wait for their next attempt or their turn.',
    (now) => now.later,
  ],
  ['rowpost_deliveries_paused', "Deliveries that wait for a tenant's key or credit.", (now) => now.paused],
  [
    'rowpost_loops_tripped',
    'Pairs of a rule and a record that were held as a loop in the last five minutes.',
    (now) => now.loopsTripped,
  ],
];

/** Ledger metrics at `/metrics`. Installation-wide: the same in every web process. */
export function registerDeliveryMetrics(
  registry: Registry,
  { database, log }: { readonly database: Pick<Database, 'pool'>; readonly log: Logger },
): void {
  let asked: Promise<Backlog | undefined> | undefined;
  let askedAtMs = -Infinity;
  const ask = (): Promise<Backlog | undefined> => {
    if (asked && performance.now() - askedAtMs < CACHE_MS) return asked;
    askedAtMs = performance.now();
    const reading = readBacklog(database.pool).catch((error: unknown) => {
      log.debug({ err: error }, 'the figures of the ledger can not be read');
      return undefined;
    });
    asked = Promise.race([reading, delay(QUERY_TIMEOUT_MS, undefined, { ref: false })]);
    return asked;
  };
  for (const [name, help, read] of FIGURES) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const waiting = await ask();
        // During a database outage there is no value, rather than a stale one.
        if (waiting) this.set(read(waiting));
        else this.remove();
      },
    });
  }
}
