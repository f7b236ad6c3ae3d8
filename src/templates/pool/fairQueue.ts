import { takeGroup, type QueuedJob } from './queuedJob.js';

/** A tenant is slow whose jobs take so long on average. Most emails take a few milliseconds. */
const SLOW_MS = 100;
/** It yields the last thread if they take so many times as long as the quick ones of late: short of CPU, all take long. */
const YIELDING_TIMES = 4;
/** How fast the quick ones of late are forgotten, where only slower ones come. */
const FORGETTING = 0.01;
/** Weight of the newest group in the average: a tenant is slow at once, and quick again after ten or twenty quick groups. */
const NEWEST = 0.2;
/** Tenants without jobs that are remembered. */
const MAX_IDLE_TENANTS = 5_000;

/** What is known of a tenant. */
interface Account {
  readonly tenantid: number | undefined;
  readonly waiting: QueuedJob[];
  /** Threads that run its jobs. */
  threads: number;
  /** What it has used, on the queue's clock. */
  usedMs: number;
  /** Of a job; 0 before the first. */
  averageMs: number;
}

/** Jobs of one tenant that a thread runs together. */
export interface Group {
  readonly jobs: readonly QueuedJob[];
  readonly account: Account;
  readonly beganMs: number;
  readonly estimateMs: number;
}

/**
 * Jobs that wait for a thread. The tenant that has used least of the threads' time is next, so many jobs, or slow ones,
 * hold up the tenant whose they are. A running job can't be interrupted: one tenant never holds all threads, and the slow
 * tenants together neither. Jobs of no tenant may hold all.
 */
export class FairQueue {
  readonly #accounts = new Map<number | undefined, Account>();
  /** Those with waiting jobs; of two that have used as much, the one whose turn is longer ago comes first. */
  readonly #waiting = new Set<Account>();
  readonly #running = new Set<Group>();
  /** Where the last one that was served stood. Who comes back begins here: time that was left to others is gone. */
  #clockMs = 0;
  /** What quick jobs of late took: follows quicker ones at once, and slower ones slowly. */
  #quickMs: number | undefined;

  constructor(
    private readonly threads: number,
    private readonly nowMs: () => number,
  ) {}

  /** Whether its jobs take long, on average. */
  isSlow(tenantid: number | undefined): boolean {
    return (this.#accounts.get(tenantid)?.averageMs ?? 0) > SLOW_MS;
  }

  add(job: QueuedJob): void {
    const account = this.#accountOf(job.tenantid);
    if (account.waiting.length === 0 && account.threads === 0) {
      account.usedMs = Math.max(account.usedMs, this.#clockMs);
    }
    account.waiting.push(job);
    this.#waiting.add(account);
  }

  /** Takes jobs back that were not begun. */
  giveBack(jobs: readonly QueuedJob[]): void {
    for (const job of [...jobs].reverse()) {
      const account = this.#accountOf(job.tenantid);
      account.waiting.unshift(job);
      this.#waiting.add(account);
    }
  }

  /** What a free thread shall run; undefined when nothing that waits may begin now. */
  take(): Group | undefined {
    const account = this.#next();
    if (!account) return undefined;
    const jobs = takeGroup(account.waiting, this.isSlow(account.tenantid) ? 1 : Infinity);
    this.#waiting.delete(account);
    if (account.waiting.length > 0) this.#waiting.add(account);
    this.#clockMs = Math.max(this.#clockMs, account.usedMs);
    // Corrected when it is known: meanwhile another thread may ask.
    const estimateMs = account.averageMs * jobs.length;
    account.usedMs += estimateMs;
    account.threads += 1;
    const group = { jobs, account, beganMs: this.nowMs(), estimateMs };
    this.#running.add(group);
    return group;
  }

  /** A thread is done with a group, or has ended. */
  settle(group: Group): void {
    const { account, jobs, beganMs, estimateMs } = group;
    if (!this.#running.delete(group)) return;
    const tookMs = this.nowMs() - beganMs;
    const done = Math.max(1, jobs.filter((job) => job.isSettled).length);
    account.threads -= 1;
    account.usedMs += tookMs - estimateMs;
    const jobMs = tookMs / done;
    account.averageMs += NEWEST * (jobMs - account.averageMs);
    const quickMs = this.#quickMs ?? jobMs;
    this.#quickMs = Math.min(jobMs, quickMs + FORGETTING * (jobMs - quickMs));
  }

  /** Takes all that waits. */
  clear(): readonly QueuedJob[] {
    const jobs = [...this.#waiting].flatMap(({ waiting }) => waiting.splice(0));
    this.#waiting.clear();
    return jobs;
  }

  #next(): Account | undefined {
    let next: Account | undefined;
    for (const account of this.#waiting) {
      if ((next === undefined || account.usedMs < next.usedMs) && this.#mayBegin(account)) next = account;
    }
    return next;
  }

  #mayBegin(account: Account): boolean {
    const { tenantid, threads } = account;
    if (tenantid === undefined || this.threads === 1) return true;
    const most = this.threads - 1;
    if (threads >= most) return false;
    if (!this.#yields(account)) return true;
    return [...this.#running].filter((group) => this.#yields(group.account)).length < most;
  }

  #yields({ averageMs }: Account): boolean {
    return averageMs > SLOW_MS && averageMs > YIELDING_TIMES * (this.#quickMs ?? 0);
  }

  #accountOf(tenantid: number | undefined): Account {
    const known = this.#accounts.get(tenantid);
    if (known) return known;
    if (this.#accounts.size >= MAX_IDLE_TENANTS) this.#forgetIdle();
    const account = { tenantid, waiting: [], threads: 0, usedMs: this.#clockMs, averageMs: 0 };
    this.#accounts.set(tenantid, account);
    return account;
  }

  #forgetIdle(): void {
    for (const account of this.#accounts.values()) {
      if (account.waiting.length === 0 && account.threads === 0) this.#accounts.delete(account.tenantid);
    }
  }
}
