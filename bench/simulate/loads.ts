import type { Installation } from './installation.js';
import type { Load } from './measurements.js';
import type { Random } from './random.js';
import type { Simulation } from './simulation.js';

const PATIENCE_MS = 120_000;
/** As in `bench/pipeline/closedLoad.ts`. */
const HOLD_MS = 5;
const POLL_MS = 25;

/** Runs a load as `measure.ts` does, until all of its emails are accepted. Throws when they are not in time. */
export class LoadRunner {
  #turn = 0;

  constructor(
    private readonly simulation: Simulation,
    private readonly installation: Installation,
    private readonly tenants: number,
  ) {}

  /** @param part how long it took, and how many emails: those that it has no say in */
  run(load: Load, part: { readonly seconds: number; readonly emails: number }): void {
    switch (load.kind) {
      case 'idle':
        this.simulation.runFor(part.seconds * 1000);
        break;
      case 'paced':
        this.#pace(load.perSecond, part.emails);
        break;
      case 'closed':
        this.#close(load, part.seconds);
        break;
      case 'mutations':
        this.installation.relay.pause(true);
        this.#mutateAll(load.connections, part.emails);
        break;
      case 'drain':
        this.installation.relay.pause(false);
        this.#settle();
    }
  }

  #nextTenant(): number {
    return 1 + (this.#turn++ % this.tenants);
  }

  #settle(): void {
    const { installation, simulation } = this;
    if (!simulation.runUntil(() => installation.behind === 0, simulation.nowMs + PATIENCE_MS)) {
      throw new Error(`${installation.behind} emails are missing`);
    }
  }

  #pace(perSecond: number, emails: number): void {
    for (let n = 0; n < emails; n++) {
      this.simulation.after((n * 1000) / perSecond, () => this.installation.mutate(this.#nextTenant()));
    }
    this.simulation.runFor((emails * 1000) / perSecond);
    this.#settle();
  }

  #close({ connections, maxBehind }: Load & { kind: 'closed' }, seconds: number): void {
    const { simulation, installation } = this;
    const endMs = simulation.nowMs + seconds * 1000;
    let acknowledged = installation.accepted;
    let accepted = installation.accepted;
    const look = (): void => {
      accepted = installation.accepted;
      if (simulation.nowMs < endMs) simulation.after(POLL_MS, look);
    };
    const connection = (): void => {
      if (simulation.nowMs >= endMs) return;
      if (acknowledged - accepted >= maxBehind) {
        simulation.after(HOLD_MS, connection);
        return;
      }
      installation.mutate(this.#nextTenant(), () => {
        acknowledged += 1;
        connection();
      });
    };
    look();
    for (let n = 0; n < connections; n++) connection();
    simulation.runUntil(() => false, endMs);
    this.#settle();
  }

  #mutateAll(connections: number, emails: number): void {
    let left = emails;
    let inHand = 0;
    const connection = (): void => {
      if (left === 0) return;
      left -= 1;
      inHand += 1;
      this.installation.mutate(this.#nextTenant(), () => {
        inHand -= 1;
        connection();
      });
    };
    for (let n = 0; n < connections; n++) connection();
    this.simulation.runUntil(() => inHand === 0, this.simulation.nowMs + PATIENCE_MS);
  }
}

/** Changes that know nothing of each other: a Poisson process. @param perSecond at a time from its beginning */
export function arrive(
  { simulation, random }: { readonly simulation: Simulation; readonly random: Random },
  perSecond: number,
  untilMs: number,
  happen: () => void,
): void {
  const next = (): void => {
    if (simulation.nowMs >= untilMs) return;
    happen();
    simulation.after(random.exponential(1000 / perSecond), next);
  };
  simulation.after(random.exponential(1000 / perSecond), next);
}
