import { AppError } from '../../foundation/errors.js';
import { RETRY_AFTER_SECONDS } from '../../foundation/limits/tenantLimiter.js';
import type { Steps } from '../steps.js';
import { CpuQuota } from './cpuQuota.js';
import type { PlanOwner } from './planOwner.js';

export interface PlanningLimits {
  /** CPU time per second that a tenant's roles may spend on planning while others are using the process. */
  readonly msPerSecond: number;
  /** The same for its anonymous clients. */
  readonly anonymousMsPerSecond: number;
  /** Maximum waiting requests per owner; a tenth of it for anonymous clients. */
  readonly waiting: number;
  /** Longest wait. */
  readonly waitMs: number;
}

/** Maximum time for which planning blocks the event loop, exceeded by at most one step. */
const SLICE_MS = 1;
/** How long quotas stay in force after a request of another owner. */
const CONTENTION_MS = 1_000;

interface Task {
  /** @returns whether it is finished */
  readonly step: () => boolean;
  readonly reject: (error: AppError) => void;
  isStarted: boolean;
  timer?: NodeJS.Timeout;
}

/** The tasks of one owner, run one at a time: the second of two equal documents finds the plan of the first. */
interface Line {
  readonly owner: PlanOwner;
  readonly tasks: Task[];
}

/**
 * Parses, validates and compiles for all tenants of a process, in slices between which the event loop runs. Owners take
 * turns step by step, within a CPU quota while others are using the process.
 */
export class PlanningQueue {
  readonly #lines = new Map<string, Line>();
  readonly #quotas: { readonly roles: CpuQuota; readonly anonymous: CpuQuota };
  #lastPlanner = '';
  #lastContentionMs = -Infinity;
  #usedMs = 0;
  #isScheduled = false;
  #later: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: PlanningLimits,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#quotas = {
      roles: new CpuQuota(limits.msPerSecond),
      anonymous: new CpuQuota(limits.anonymousMsPerSecond),
    };
  }

  /**
   * Tasks that finish before their first costly step run immediately, whatever the quota. Throws AppError TOO_BUSY, and
   * what the steps throw.
   */
  async run<T>(owner: PlanOwner, steps: Steps<T>): Promise<T> {
    this.#notice(owner.key);
    const first = steps.next();
    if (first.done === true) return first.value;
    let line = this.#lines.get(owner.key);
    if (!line) this.#lines.set(owner.key, (line = { owner, tasks: [] }));
    const most = owner.isAnonymous ? Math.ceil(this.limits.waiting / 10) : this.limits.waiting;
    if (line.tasks.length > most && !owner.isForEmails) throw tooBusy();
    const done = this.#add(line, steps);
    if (this.#usedMs < SLICE_MS) this.#work();
    return done;
  }

  /** Notes contention: the last request was another owner's, or another owner is waiting. */
  #notice(key: string): void {
    const othersWait = this.#lines.size > (this.#lines.has(key) ? 1 : 0);
    const isAnother = key !== this.#lastPlanner && this.#lastPlanner !== '';
    if (othersWait || isAnother) this.#lastContentionMs = this.nowMs();
    this.#lastPlanner = key;
  }

  #add<T>({ tasks }: Line, steps: Steps<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const step = (): boolean => {
        try {
          const result = steps.next();
          if (result.done === true) resolve(result.value);
          return result.done === true;
        } catch (error) {
          reject(error instanceof Error ? error : new Error('planning failed', { cause: error }));
          return true;
        }
      };
      tasks.push({ step, reject, isStarted: false });
    });
  }

  /** Runs one slice. */
  #work(): void {
    for (let line = this.#due(); line && this.#usedMs < SLICE_MS; line = this.#due()) this.#step(line);
    for (const line of this.#lines.values()) this.#expectWait(line);
    this.#schedule();
  }

  /** The first line that may continue. */
  #due(): Line | undefined {
    const now = this.nowMs();
    for (const line of this.#lines.values()) if (this.#waitMs(line.owner, now) === 0) return line;
    return undefined;
  }

  #step(line: Line): void {
    const { owner, tasks } = line;
    const [task] = tasks;
    if (!task) throw new Error('a line without tasks was kept');
    clearTimeout(task.timer);
    task.isStarted = true;
    const startedAtMs = this.nowMs();
    const isDone = task.step();
    const now = this.nowMs();
    this.#usedMs += now - startedAtMs;
    this.#quotaOf(owner).use(owner.key, now - startedAtMs, now);
    if (isDone) tasks.shift();
    // Moves to the back of the queue.
    this.#lines.delete(owner.key);
    if (tasks.length > 0) this.#lines.set(owner.key, line);
  }

  #schedule(): void {
    // The slice ends, for accounting, only when the event loop has completed an iteration.
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#usedMs = 0;
      if (this.#lines.size > 0) this.#resume();
    });
  }

  #resume(): void {
    const now = this.nowMs();
    const waitMs = Math.min(...[...this.#lines.values()].map(({ owner }) => this.#waitMs(owner, now)));
    if (waitMs === 0) {
      this.#work();
      return;
    }
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.#work(), Math.ceil(waitMs));
  }

  #waitMs({ key, isAnonymous }: PlanOwner, now: number): number {
    const quota = this.#quotaOf({ key, isAnonymous });
    if (now - this.#lastContentionMs < CONTENTION_MS) return quota.waitMs(key, now);
    quota.settle(key, now);
    return 0;
  }

  #quotaOf({ isAnonymous }: PlanOwner): CpuQuota {
    return isAnonymous ? this.#quotas.anonymous : this.#quotas.roles;
  }

  /** Rejects tasks that wait too long for their first step. */
  #expectWait({ owner, tasks }: Line): void {
    if (owner.isForEmails) return;
    for (const task of tasks) {
      if (task.isStarted) continue;
      task.timer ??= setTimeout(() => {
        tasks.splice(tasks.indexOf(task), 1);
        if (tasks.length === 0) this.#lines.delete(owner.key);
        task.reject(tooBusy());
      }, this.limits.waitMs);
    }
  }
}

function tooBusy(): AppError {
  return new AppError('TOO_BUSY', 'Too many new documents are waiting to be planned.', {
    hint: 'Send values as variables, so that documents repeat, or retry after the time given in Retry-After.',
    details: { retryAfterSeconds: RETRY_AFTER_SECONDS },
  });
}
