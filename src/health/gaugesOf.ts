import { Gauge, type Registry } from 'prom-client';

/** Makes gauges of what is read from PostgreSQL. During an outage they have no value, rather than a stale one. */
export function gaugesOf<Facts>(registry: Registry, read: () => Promise<Facts | undefined>) {
  return (name: string, help: string, valueOf: (facts: Facts) => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const facts = await read();
        if (facts) this.set(valueOf(facts));
        else this.remove();
      },
    });
  };
}
