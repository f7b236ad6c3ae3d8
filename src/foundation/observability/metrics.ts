import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Metrics of this process, whatever it runs. Labels have few, known values: never a tenant, a path or free text. */
export const processRegistry = new Registry();

const registers = [processRegistry];
const FAST = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SLOW = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export const deliveryOutcomes = new Counter({
  name: 'rowpost_delivery_outcomes_total',
  help: 'Delivery attempts by carrier and by the state of the delivery after the attempt.',
  labelNames: ['state', 'carrier'],
  registers,
});
export const commitToAccepted = new Histogram({
  name: 'rowpost_commit_to_accepted_seconds',
  help: 'Time from a change to the acceptance of its email, for deliveries sent at the first attempt.',
  buckets: SLOW,
  registers,
});
export const carrierCalls = new Histogram({
  name: 'rowpost_carrier_call_seconds',
  help: 'Calls to carriers, by carrier and outcome.',
  labelNames: ['carrier', 'outcome'],
  buckets: SLOW,
  registers,
});
export const renderings = new Histogram({
  name: 'rowpost_render_seconds',
  help: 'Time to render templates, including the wait for a render process.',
  buckets: FAST,
  registers,
});
export const emailQueries = new Histogram({
  name: 'rowpost_email_query_seconds',
  help: 'Time of queries of email types, including the wait for a connection.',
  buckets: FAST,
  registers,
});
export const outboxPolls = new Histogram({
  name: 'rowpost_outbox_poll_seconds',
  help: "Duration of the relay's polls of the outbox.",
  buckets: FAST,
  registers,
});
export const relayFailures = new Counter({
  name: 'rowpost_relay_failures_total',
  help: "Runs of the relay's steps that failed, and are repeated.",
  labelNames: ['step'],
  registers,
});
export const tablesNotCaptured = new Gauge({
  name: 'rowpost_tables_not_captured',
  help: 'Captured tables that lack triggers: changes to them by SQL send no email. Reported by relays.',
  registers,
});
export const queueRoundTrips = new Histogram({
  name: 'rowpost_queue_round_trip_seconds',
  help: 'Round trips of a probe to the queue every two seconds.',
  buckets: FAST,
  registers,
});
export const queueFailures = new Counter({
  name: 'rowpost_queue_failures_total',
  help: 'Probes to which the queue did not respond, or with an error.',
  registers,
});
export const postgresFailures = new Counter({
  name: 'rowpost_postgres_failures_total',
  help: 'Probes, one per second, to which PostgreSQL did not respond.',
  registers,
});
export const replicaReads = new Counter({
  name: 'rowpost_replica_reads_total',
  help: 'Reads meant for a replica: served by it, failed there and repeated on the primary, or sent to the primary because the replica lags.',
  labelNames: ['outcome'],
  registers,
});
export const historyChanges = new Counter({
  name: 'rowpost_history_changes_total',
  help: 'Times that PostgreSQL was found to be replaced, promoted or back in time.',
  labelNames: ['change'],
  registers,
});

// Starts at zero, since Prometheus sees no increase in a series that begins with one.
for (const change of ['replaced', 'promoted', 'rewound']) historyChanges.inc({ change }, 0);
for (const outcome of ['served', 'failed', 'behind']) replicaReads.inc({ outcome }, 0);

/** Incremented on every request or email, so these are plain numbers, turned into metrics at each scrape. */
export const cacheLookups = {
  documents: { hit: 0, miss: 0 },
  plans: { hit: 0, miss: 0 },
  principals: { hit: 0, miss: 0 },
  email_types: { hit: 0, miss: 0 },
};

new Counter({
  name: 'rowpost_cache_lookups_total',
  help: 'Lookups in caches of this process.',
  labelNames: ['cache', 'result'],
  registers,
  collect() {
    this.reset();
    for (const [cache, { hit, miss }] of Object.entries(cacheLookups)) {
      this.inc({ cache, result: 'hit' }, hit);
      this.inc({ cache, result: 'miss' }, miss);
    }
  },
});

/** Runs the work and records how long it took, even if it fails. */
export async function timed<T>(histogram: Histogram, work: () => Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  try {
    return await work();
  } finally {
    histogram.observe((performance.now() - startedAtMs) / 1000);
  }
}

let collectsDefaults = false;

/** Starts collecting memory, CPU, event loop and start time of the process. For processes that are scraped. */
export function collectProcessMetrics(): void {
  if (collectsDefaults) return;
  collectsDefaults = true;
  collectDefaultMetrics({ register: processRegistry });
}
