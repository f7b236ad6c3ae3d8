import { DEFAULT_LIMITS } from '../limits.js';
import type { TemplateLimits } from '../limits.js';
import { BriefRunner } from './briefRunner.js';
import { FairQueue, type Group } from './fairQueue.js';
import { answer, QueuedJob } from './queuedJob.js';
import { RenderThread, type ThreadEvents, type ThreadOptions } from './renderThread.js';
import type { CheckOutcome, RenderOutcome, TemplateJob, TemplateRequest, ThreadTask } from './templateJob.js';
import { nowMs } from './threadProgress.js';

export type { CheckOutcome, RenderOutcome, TemplateJob, TemplateRequest } from './templateJob.js';

export interface TemplatePoolOptions {
  /** Threads, all started at once. Default 1. */
  readonly threads?: number;
  readonly limits?: Partial<TemplateLimits>;
  /** Heap of one thread in MB; a thread that needs more dies. Default 128. */
  readonly maxOldGenerationMb?: number;
  /** Time for one job in milliseconds, waiting not counted; then its thread is ended. Default 5,000. */
  readonly deadlineMs?: number;
  /** Environment of the threads. Default empty: templates have no business there. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Threads that render templates, away from the event loop; except for what takes less than the way to one, see `BriefRunner`. */
export interface TemplatePool {
  /** Renders all templates of a job in one place; one outcome each, in order. Rejects for bugs, and when it is closed. */
  render(job: TemplateJob): Promise<RenderOutcome[]>;
  /** Compiles only; one outcome each, in order. */
  check(templates: readonly TemplateRequest[], tenantid?: number): Promise<CheckOutcome[]>;
  /** Ends the threads once what was given to it has finished. */
  close(): Promise<void>;
}

/** Starts a pool. A thread that is ended for a job is replaced, and only that job fails. */
export function createTemplatePool(options: TemplatePoolOptions = {}): TemplatePool {
  return new ThreadPool(options);
}

/**
 * Jobs that wait together cross to a thread together: a message costs more than most jobs do. Those of one turn of the
 * event loop are waited for, which takes no time.
 */
class ThreadPool implements TemplatePool, ThreadEvents {
  readonly #threads = new Set<RenderThread>();
  /** The one that worked last comes first: its caches are warm. */
  readonly #free: RenderThread[] = [];
  readonly #waiting: FairQueue;
  readonly #running = new Map<RenderThread, Group>();
  readonly #open = new Set<Promise<unknown>>();
  readonly #threadCount: number;
  readonly #options: ThreadOptions;
  readonly #brief: BriefRunner;
  #isTurnShared = false;
  #isClosed = false;

  constructor({
    threads = 1,
    limits = {},
    maxOldGenerationMb = 128,
    deadlineMs = 5_000,
    env = {},
  }: TemplatePoolOptions) {
    this.#threadCount = threads;
    this.#waiting = new FairQueue(threads, nowMs);
    this.#options = { limits: { ...DEFAULT_LIMITS, ...limits }, maxOldGenerationMb, deadlineMs, env };
    this.#brief = new BriefRunner(this.#options.limits);
    this.#startThreads();
  }

  render({ contextJson, templates, tenantid }: TemplateJob): Promise<RenderOutcome[]> {
    return this.#run({ templates, contextJson }, tenantid);
  }

  async check(templates: readonly TemplateRequest[], tenantid?: number): Promise<CheckOutcome[]> {
    const outcomes = await this.#run({ templates, contextJson: undefined }, tenantid);
    return outcomes.map((outcome) => (outcome.ok ? { ok: true } : outcome));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#open);
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  onFree(thread: RenderThread): void {
    this.#settle(thread);
    this.#free.push(thread);
    this.#hand();
  }

  onReturn(jobs: readonly QueuedJob[]): void {
    this.#waiting.giveBack(jobs);
    this.#hand();
  }

  onEnd(thread: RenderThread, failure: Error | undefined): void {
    this.#threads.delete(thread);
    this.#settle(thread);
    const at = this.#free.indexOf(thread);
    if (at >= 0) this.#free.splice(at, 1);
    // The next job tries again.
    if (!failure) this.#startThreads();
    else if (this.#threads.size === 0) {
      for (const job of this.#waiting.clear()) job.settle({ bug: failure });
    }
  }

  #run(task: ThreadTask, tenantid: number | undefined): Promise<RenderOutcome[]> {
    if (this.#isClosed) return Promise.reject(new Error('the template pool is closed'));
    // Who is slow tries nobody's patience here.
    const result = this.#waiting.isSlow(tenantid) ? undefined : this.#brief.tryRun(task);
    if (result) return new Promise((resolve, reject) => answer(result, resolve, reject));
    this.#startThreads();
    const job = new Promise<RenderOutcome[]>((resolve, reject) => {
      this.#waiting.add(new QueuedJob(task, resolve, reject, tenantid));
    });
    this.#open.add(job);
    const isOver = (): boolean => this.#open.delete(job);
    job.then(isOver, isOver);
    if (!this.#isTurnShared) {
      this.#isTurnShared = true;
      setImmediate(() => {
        this.#isTurnShared = false;
        this.#hand();
      });
    }
    return job;
  }

  #startThreads(): void {
    if (this.#isClosed && this.#open.size === 0) return;
    while (this.#threads.size < this.#threadCount) this.#threads.add(new RenderThread(this.#options, this));
  }

  #hand(): void {
    while (this.#free.length > 0) {
      const group = this.#waiting.take();
      const thread = group && this.#free.pop();
      if (!thread) return;
      this.#running.set(thread, group);
      thread.run(group.jobs);
    }
  }

  #settle(thread: RenderThread): void {
    const group = this.#running.get(thread);
    if (!group) return;
    this.#running.delete(thread);
    this.#waiting.settle(group);
  }
}
