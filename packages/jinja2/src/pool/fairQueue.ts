import { takeGroup, type QueuedJob } from './queuedJob.js';
import { REASSIGN_AFTER_MS } from './renderProtocol.js';

/** Average job time above which a tenant is slow. Most emails take a few milliseconds. */
const SLOW_MS = 100;
/** A slow tenant only yields the last process if it is this many times slower than the baseline, because on a busy CPU all are slow. */
const YIELD_FACTOR = 4;
/** How fast the baseline rises if only slower jobs arrive. */
const BASELINE_DECAY = 0.01;
/** Weight of the newest group in the moving average. */
const EWMA_WEIGHT = 0.2;
/** How long a tenant counts as slow after a slow job: with quick ones in between, it would have a process most of the time. */
const SLOW_FOR_MS = 10_000;
/** Maximum accounts kept for idle tenants. */
const MAX_IDLE_TENANTS = 5_000;

/** Scheduling state of a tenant. */
interface Account {
  readonly tenantid: number | undefined;
  readonly waiting: QueuedJob[];
  /** Processes running its jobs. */
  processes: number;
  /** Render time used, on the queue's virtual clock. */
  usedMs: number;
  /** Moving average of the time per job; 0 before the first. */
  averageMs: number;
  /** The time of its last slow job, and when that ended. */
  slowMs: number;
  slowAtMs: number;
}

/** Jobs of one tenant that a process runs together. */
export interface Group {
  readonly jobs: readonly QueuedJob[];
  readonly account: Account;
  readonly startedAtMs: number;
  readonly estimateMs: number;
}

/**
 * A fair queue of jobs waiting for a process. The tenant that has used the least render time is next, so many or slow jobs
 * only delay their own tenant. Running jobs can't be preempted, so neither one tenant nor all slow tenants together may
 * occupy all processes. Jobs without a tenant may.
 */
export class FairQueue {
  readonly #accounts = new Map<number | undefined, Account>();
  /** Those with waiting jobs, least recently served first, which breaks ties. */
  readonly #waiting = new Set<Account>();
  readonly #running = new Set<Group>();
  /** Virtual time of the account served last, where an account that returns from idle starts: unused time does not accumulate. */
  #clockMs = 0;
  /** Baseline of recent quick jobs: drops immediately, rises slowly. */
  #quickMs: number | undefined;

  constructor(
    private readonly processes: number,
    private readonly nowMs: () => number,
  ) {}

  add(job: QueuedJob): void {
    const account = this.#accountOf(job.tenantid);
    if (account.waiting.length === 0 && account.processes === 0) {
      account.usedMs = Math.max(account.usedMs, this.#clockMs);
    }
    account.waiting.push(job);
    this.#waiting.add(account);
  }

  /** Puts jobs that were not started back at the front. */
  requeue(jobs: readonly QueuedJob[]): void {
    for (const job of [...jobs].reverse()) {
      const account = this.#accountOf(job.tenantid);
      account.waiting.unshift(job);
      this.#waiting.add(account);
    }
  }

  /** The next group for a free process; undefined if no waiting job may start now. */
  take(): Group | undefined {
    const account = this.#next();
    if (!account) return undefined;
    const jobs = takeGroup(account.waiting, account.averageMs > SLOW_MS ? 1 : Infinity);
    this.#waiting.delete(account);
    if (account.waiting.length > 0) this.#waiting.add(account);
    this.#clockMs = Math.max(this.#clockMs, account.usedMs);
    // Charged in advance, because another process may ask in the meantime; corrected in `settle`.
    const estimateMs = account.averageMs * jobs.length;
    account.usedMs += estimateMs;
    account.processes += 1;
    const group = { jobs, account, startedAtMs: this.nowMs(), estimateMs };
    this.#running.add(group);
    return group;
  }

  /** A process finished a group, or died. */
  settle(group: Group): void {
    const { account, jobs, startedAtMs, estimateMs } = group;
    if (!this.#running.delete(group)) return;
    const tookMs = this.nowMs() - startedAtMs;
    const done = Math.max(1, jobs.filter((job) => job.isSettled).length);
    account.processes -= 1;
    account.usedMs += tookMs - estimateMs;
    const jobMs = tookMs / done;
    account.averageMs += EWMA_WEIGHT * (jobMs - account.averageMs);
    // Jobs behind one that runs longer are reassigned: the last one took the rest of the time.
    const longestMs = Math.max(jobMs, tookMs - REASSIGN_AFTER_MS);
    if (longestMs > SLOW_MS) [account.slowMs, account.slowAtMs] = [longestMs, this.nowMs()];
    const quickMs = this.#quickMs ?? jobMs;
    this.#quickMs = Math.min(jobMs, quickMs + BASELINE_DECAY * (jobMs - quickMs));
  }

  /** Removes and returns all waiting jobs. */
  clear(): readonly QueuedJob[] {
    const jobs = [...this.#waiting].flatMap(({ waiting }) => waiting.splice(0));
    this.#waiting.clear();
    return jobs;
  }

  #next(): Account | undefined {
    let next: Account | undefined;
    for (const account of this.#waiting) {
      if ((next === undefined || account.usedMs < next.usedMs) && this.#mayStart(account)) next = account;
    }
    return next;
  }

  #mayStart(account: Account): boolean {
    const { tenantid, processes } = account;
    if (tenantid === undefined || this.processes === 1) return true;
    const max = this.processes - 1;
    if (processes >= max) return false;
    if (!this.#yields(account)) return true;
    return [...this.#running].filter((group) => this.#yields(group.account)).length < max;
  }

  #yields({ slowMs, slowAtMs }: Account): boolean {
    return slowMs > YIELD_FACTOR * (this.#quickMs ?? 0) && this.nowMs() - slowAtMs < SLOW_FOR_MS;
  }

  #accountOf(tenantid: number | undefined): Account {
    const known = this.#accounts.get(tenantid);
    if (known) return known;
    if (this.#accounts.size >= MAX_IDLE_TENANTS) this.#forgetIdle();
    const account = {
      tenantid,
      waiting: [],
      processes: 0,
      usedMs: this.#clockMs,
      averageMs: 0,
      slowMs: 0,
      slowAtMs: -Infinity,
    };
    this.#accounts.set(tenantid, account);
    return account;
  }

  #forgetIdle(): void {
    for (const account of this.#accounts.values()) {
      if (account.waiting.length === 0 && account.processes === 0) this.#accounts.delete(account.tenantid);
    }
  }
}
