import { Gauge, type Registry } from 'prom-client';
import type { Backlog } from '../db/delivery/backlog.js';
import type { BacklogReader } from './backlogReader.js';

type Figure = readonly [name: string, help: string, read: (backlog: Backlog) => number];

const FIGURES: readonly Figure[] = [
  ['rowpost_events_unread', 'Committed events that no relay has read.', (now) => now.unreadEvents],
  [
    'rowpost_events_unread_seconds',
    'How long the oldest of them has waited.',
    (now) => now.unreadSeconds ?? 0,
  ],
  [
    'rowpost_batches_waiting',
    'Batches of events whose rules are not evaluated yet.',
    (now) => now.openBatches,
  ],
  [
    'rowpost_batches_waiting_seconds',
    'How long ago the oldest event in them was committed, those of tenants that have used up their rate limit apart.',
    (now) => now.openBatchSeconds ?? 0,
  ],
  ['rowpost_deliveries_waiting', 'Deliveries to be sent now, or being sent.', (now) => now.waiting],
  [
    'rowpost_deliveries_waiting_seconds',
    'How long ago the oldest of them was committed or became due.',
    (now) => now.waitingSeconds ?? 0,
  ],
  ['rowpost_retries_due', 'Deliveries whose next attempt is due and has not begun.', (now) => now.retries],
  [
    'rowpost_retries_due_seconds',
    'How long the oldest of them has been due.',
    (now) => now.retrySeconds ?? 0,
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

/** The backlog as gauges. Installation-wide, so every process reports the same. */
export function registerBacklogMetrics(registry: Registry, read: BacklogReader): void {
  for (const [name, help, valueOf] of FIGURES) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const backlog = await read();
        // During a database outage there is no value, rather than a stale one.
        if (backlog) this.set(valueOf(backlog));
        else this.remove();
      },
    });
  }
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
