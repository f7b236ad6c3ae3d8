import { Counter, type Registry } from 'prom-client';

type Outcome = 'recorded' | 'repeated' | 'foreign' | 'ignored';

/** Counts the carrier's events by outcome. */
export class EmailEventMetrics {
  readonly #events: Counter<'outcome'>;

  constructor(registry: Registry) {
    this.#events = new Counter({
      name: 'rowpost_email_events_total',
      help: 'Events of the carrier: recorded, repeated, foreign (of no delivery of the tenant) or ignored.',
      labelNames: ['outcome'],
      registers: [registry],
    });
  }

  count(counts: Readonly<Record<Outcome, number>>): void {
    for (const [outcome, number] of Object.entries(counts)) this.#events.inc({ outcome }, number);
  }
}
