import type { Thread } from './machine.js';
import { Ledger, type Email } from './email.js';
import { Queue } from './queue.js';
import { Relay } from './relay.js';
import type { Site } from './site.js';
import { Web } from './web.js';
import { Worker } from './worker.js';

export interface Processes {
  readonly web: number;
  readonly workers: number;
  /** RELAY_BATCH */
  readonly relayBatch: number;
  /** WORKER_CONCURRENCY */
  readonly concurrency: number;
  /** Whether the load and the carrier run here as well, on the same cores. */
  readonly withPeers: boolean;
}

/** One installation: its processes around a PostgreSQL and a Redis, and what came of the changes. */
export class Installation {
  readonly relay: Relay;
  readonly queue = new Queue();
  mutated = 0;
  accepted = 0;
  /** From the row's write to the carrier, of each email since this was last emptied. */
  latenciesMs: number[] = [];
  readonly #webs: readonly Web[];
  readonly #load: Thread | undefined;
  readonly #carrier: Thread | undefined;

  constructor(
    private readonly site: Site,
    { web, workers, relayBatch, concurrency, withPeers }: Processes,
  ) {
    const ledger = new Ledger();
    const relay = new Relay(site, this.queue, ledger, relayBatch);
    this.relay = relay;
    this.#webs = Array.from({ length: web }, () => new Web(site, relay));
    for (let n = 0; n < workers; n++) {
      new Worker(site, this.queue, ledger, concurrency, (email, then) => this.#deliver(email, then));
    }
    if (!withPeers) return;
    this.#load = site.startThread('load');
    this.#carrier = site.startThread('carrier');
  }

  /** Changes that are committed and not emailed yet. */
  get behind(): number {
    return this.mutated - this.accepted;
  }

  mutate(tenantid: number, answered?: () => void): void {
    const web = this.#webs[this.mutated % this.#webs.length];
    const end = (): void => answered?.();
    this.mutated += 1;
    const load = this.#load;
    if (load) load.run({ email: 0.5 }, () => web?.mutate(tenantid, () => load.run({ email: 0.5 }, end)));
    else web?.mutate(tenantid, end);
  }

  #deliver(email: Email, then: () => void): void {
    const { simulation, terms } = this.site;
    const response = (): void => {
      this.accepted += 1;
      this.latenciesMs.push(simulation.nowMs - email.writtenMs);
      simulation.after(terms.carrierMs() + terms.hopMs, then);
    };
    simulation.after(terms.hopMs, () => {
      if (this.#carrier) this.#carrier.run({ email: 1 }, response);
      else response();
    });
  }
}
