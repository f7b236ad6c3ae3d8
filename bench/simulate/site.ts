import { LRUCache } from 'lru-cache';
import type { Component } from './measurements.js';
import { Account, Machine, Thread, type Amounts, type Operation } from './machine.js';
import type { Random } from './random.js';
import { Disk } from './shares.js';
import type { Simulation } from './simulation.js';

export type Costs = Readonly<Record<Component, Readonly<Record<Operation, number>>>>;

/** What a simulation is told of the machines. */
export interface Terms {
  /** CPU time in milliseconds, by component. */
  readonly costMs: Costs;
  /** Times of writes to the disk, to draw from. */
  readonly flushMs: readonly number[];
  /** From the worker to the carrier's response, without CPU time of the carrier's that is modeled. */
  readonly carrierMs: () => number;
  /** One way, between processes. */
  readonly hopMs: number;
  /** Where there are more tenants than everybody has at hand. */
  readonly crowd?: Crowd;
}

/** Tenants that are not all known everywhere. */
export interface Crowd {
  readonly tenants: number;
  /** Tenants whose tables one process has at hand: the last that it served. */
  readonly perProcess: number;
  draw(random: Random): number;
  /** The chance that a session of PostgreSQL has not served the tenant before. */
  strangeness(tenantid: number): number;
}

/** Cores for processes, PostgreSQL and Redis; all the same ones where a number is given. */
export type Cores =
  number | { readonly processes: number; readonly postgres: number; readonly redis: number };

const IDLE_TICK_MS = 50;
const WARM_UP_DRAWS = 20;

/** Of PG_POOL = 24, what `src/db/pool/connectionBudget.ts` leaves a web process or a worker for tenants, the queue in Redis. */
export const TENANT_CONNECTIONS = 14;

/** What part of an email's CPU time in PostgreSQL goes to which statement. Assumed: only their sum is measured. */
export const EMAIL_SHARE = { poll: 0.1, close: 0.3, query: 0.2, start: 0.2, finish: 0.2 } as const;
/** What a worker does for an email between two waits: before its query, after it, to send, and after that. */
export const STEP: Amounts = { email: 0.25 };

/** What the processes of one installation share: the clock, the machines and the accounts. */
export class Site {
  readonly accounts: Readonly<Record<Component, Account>>;
  readonly disk: Disk;
  readonly #processes: Machine;
  readonly #postgres: Machine;
  readonly #redis: Thread;

  constructor(
    readonly simulation: Simulation,
    readonly random: Random,
    readonly terms: Terms,
    cores: Cores,
  ) {
    const { costMs, flushMs } = terms;
    const spread = () => random.spread();
    const machine = (count: number) => new Machine(simulation, count, spread);
    const account = (name: Component) => new Account(costMs[name]);
    this.accounts = {
      web: account('web'),
      relay: account('relay'),
      worker: account('worker'),
      postgres: account('postgres'),
      redis: account('redis'),
      carrier: account('carrier'),
      load: account('load'),
    };
    this.#processes = machine(typeof cores === 'number' ? cores : cores.processes);
    this.#postgres = typeof cores === 'number' ? this.#processes : machine(cores.postgres);
    const redis = typeof cores === 'number' ? this.#processes : machine(cores.redis);
    this.#redis = new Thread(simulation, redis, this.accounts.redis);
    this.#idle('postgres', this.#postgres);
    this.#idle('redis', redis);
    this.disk = new Disk(simulation, () => random.pick(flushMs));
  }

  /** The event loop of a process. */
  startThread(name: Component): Thread {
    const thread = new Thread(this.simulation, this.#processes, this.accounts[name]);
    this.#idle(name, this.#processes);
    return thread;
  }

  /** Timers, metrics and whatever else a process does without being asked. They wait for a core, and nothing for them. */
  #idle(name: Component, machine: Machine): void {
    machine.run(this.accounts[name], { idle: IDLE_TICK_MS / 1000 }, () => undefined);
    this.simulation.after(IDLE_TICK_MS, () => this.#idle(name, machine));
  }

  /** The tenants that a process has at hand, as it has been running for long. */
  knownTenants(): { know(tenantid: number): boolean } {
    const { crowd } = this.terms;
    if (!crowd || crowd.perProcess >= crowd.tenants) return { know: () => true };
    const known = new LRUCache<number, true>({ max: crowd.perProcess });
    for (let n = 0; n < WARM_UP_DRAWS * crowd.perProcess; n++) known.set(crowd.draw(this.random), true);
    return {
      know(tenantid) {
        if (known.get(tenantid)) return true;
        known.set(tenantid, true);
        return false;
      },
    };
  }

  /**
   * Gets the tenant's tables if the process does not have them, then works on a session, which may not know the tenant either.
   * @param work is told what that adds to its statement
   */
  enter(
    thread: Thread,
    tenantid: number,
    known: { know(tenantid: number): boolean },
    work: (strange: number) => void,
  ): void {
    const strangeness = this.terms.crowd?.strangeness(tenantid) ?? 0;
    const begin = (): void => work(this.random.next() < strangeness ? 1 : 0);
    if (known.know(tenantid)) begin();
    else this.query({ cold: 1 }, () => thread.run({ cold: 1 }, begin));
  }

  /** A statement, from a process and back. */
  query(amounts: Amounts, then: () => void): void {
    const { simulation, terms } = this;
    simulation.after(terms.hopMs, () =>
      this.#postgres.run(this.accounts.postgres, { ...amounts, wake: 1 }, () =>
        simulation.after(terms.hopMs, then),
      ),
    );
  }

  /** The same, answered when its commit is on the disk. @param onWritten before that */
  commit(amounts: Amounts, then: () => void, onWritten?: () => void): void {
    const { simulation, terms } = this;
    simulation.after(terms.hopMs, () =>
      this.#postgres.run(this.accounts.postgres, { ...amounts, wake: 1 }, () => {
        onWritten?.();
        this.disk.flush(() => simulation.after(terms.hopMs, then));
      }),
    );
  }

  /** A command to Redis, and back. */
  askRedis(amounts: Amounts, then: () => void): void {
    const { simulation, terms } = this;
    simulation.after(terms.hopMs, () => this.#redis.run(amounts, () => simulation.after(terms.hopMs, then)));
  }
}
