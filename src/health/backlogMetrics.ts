import { Gauge, type Registry } from 'prom-client';
import type { Backlog } from '../db/outbox/backlog.js';
import { gaugesOf } from './gaugesOf.js';

/** The members of a backlog that are numbers. */
type Figure = { [K in keyof Backlog]: Backlog[K] extends number | null ? K : never }[keyof Backlog];

const FIGURES: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['rowpost_events_unread', 'Committed events that no relay has read.', 'unreadEvents'],
  ['rowpost_events_unread_seconds', 'How long the oldest of them has waited.', 'unreadSeconds'],
  ['rowpost_batches_waiting', 'Batches of events whose rules are not evaluated yet.', 'openBatches'],
  [
    'rowpost_batches_waiting_seconds',
    'How long ago the oldest event in them was committed, those of tenants that have used up their rate limit apart.',
    'openBatchSeconds',
  ],
  ['rowpost_deliveries_waiting', 'Deliveries to be sent now, or being sent.', 'waiting'],
  [
    'rowpost_deliveries_waiting_seconds',
    'How long ago the oldest of them was committed or became due.',
    'waitingSeconds',
  ],
  ['rowpost_retries_due', 'Deliveries whose next attempt is due and has not begun.', 'retries'],
  ['rowpost_retries_due_seconds', 'How long the oldest of them has been due.', 'retrySeconds'],
  ['rowpost_deliveries_scheduled', 'Deliveries that wait for their next attempt or their turn.', 'later'],
  ['rowpost_deliveries_paused', "Deliveries that wait for a tenant's key or credit.", 'paused'],
  [
    'rowpost_loops_tripped',
    'Pairs of a rule and a record that were held as a loop in the last five minutes.',
    'loopsTripped',
  ],
];

/**
 * The backlog as gauges. Installation-wide, so every process reports the same.
 * @param read undefined if PostgreSQL is unavailable
 */
export function registerBacklogMetrics(registry: Registry, read: () => Promise<Backlog | undefined>): void {
  const gauge = gaugesOf(registry, read);
  for (const [name, help, figure] of FIGURES) gauge(name, help, (backlog) => backlog[figure] ?? 0);
  new Gauge({
    name: 'rowpost_tenant_backlog',
    help: 'Events and deliveries that wait, of the ten tenants with most of them.',
    labelNames: ['tenantid'],
    registers: [registry],
    async collect() {
      const backlog = await read();
      this.reset();
      for (const { tenantid, waiting } of backlog?.tenants ?? []) this.set({ tenantid }, waiting);
    },
  });
}
