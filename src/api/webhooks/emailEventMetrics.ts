import { Counter, type Registry } from 'prom-client';
import type { RecordedEvents } from '../../db/email/emailEvents.js';

/** Counts the carrier's events by outcome, and those that are recorded by kind. */
export class EmailEventMetrics {
  readonly #events: Counter<'outcome' | 'event'>;

  constructor(registry: Registry) {
    this.#events = new Counter({
      name: 'rowpost_email_events_total',
      help: 'Events of the carrier: recorded (by `event`: bounce, spamreport and so on), repeated, foreign (of no delivery of the tenant), excess (beyond 2,000 of a kind for a delivery), refused (beyond the quota of the tenant) or ignored.',
      labelNames: ['outcome', 'event'],
      registers: [registry],
    });
  }

  count({ recorded, ...others }: RecordedEvents & { readonly ignored: number }): void {
    for (const [event, number] of recorded) this.#events.inc({ outcome: 'recorded', event }, number);
    for (const [outcome, number] of Object.entries(others)) this.#events.inc({ outcome }, number);
  }
}
