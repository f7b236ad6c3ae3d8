import type { Thread } from './machine.js';
import type { Email } from './email.js';
import { Connections } from './shares.js';
import { TENANT_CONNECTIONS, type Site } from './site.js';

export interface Committed {
  /** The change is visible. */
  commit(email: Email): void;
  /** A wake-up has come. */
  wake(): void;
}

/** A web process: changes by `/query`, and wake-ups of the relay. */
export class Web {
  readonly #thread: Thread;
  readonly #connections = new Connections(TENANT_CONNECTIONS);
  readonly #known: ReturnType<Site['knownTenants']>;
  #untold = 0;
  #isTelling = false;

  constructor(
    private readonly site: Site,
    private readonly committed: Committed,
  ) {
    this.#thread = site.startThread('web');
    this.#known = site.knownTenants();
  }

  mutate(tenantid: number, answered: () => void): void {
    const { site } = this;
    const email: Email = { tenantid, writtenMs: 0 };
    const write = (strange: number): void =>
      this.#connections.acquire((release) =>
        site.commit(
          { mutation: 1, strange },
          () => {
            release();
            this.committed.commit(email);
            this.#thread.run({ email: 0.5 }, () => {
              answered();
              this.#untold += 1;
              if (!this.#isTelling) this.#tell();
            });
          },
          () => (email.writtenMs = site.simulation.nowMs),
        ),
      );
    this.#thread.run({ email: 0.5 }, () => site.enter(this.#thread, tenantid, this.#known, write));
  }

  /** As `src/db/pool/wakeup.ts`: one NOTIFY at a time, and a pause that grows with what it told of. */
  #tell(): void {
    const { simulation } = this.site;
    this.#isTelling = this.#untold > 0;
    if (!this.#isTelling) return;
    const told = this.#untold;
    this.#untold = 0;
    const startedAtMs = simulation.nowMs;
    this.site.query({}, () => {
      this.committed.wake();
      this.#thread.run({}, () => {
        const stepMs = Math.min(Math.max(5 * (simulation.nowMs - startedAtMs), 2), 4);
        simulation.after(stepMs * Math.min(1 + told / 3, 5), () => this.#tell());
      });
    });
  }
}
