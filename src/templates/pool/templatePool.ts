import { renderings, timed } from '../../metrics.js';
import { NO_LAYOUTS } from '../jinja2/compileLayouts.js';
import { DEFAULT_LIMITS, type TemplateLimits } from '../limits.js';
import { CONTEXT_TOO_LARGE, MAX_CONTEXT_CHARACTERS } from '../renderContext.js';
import { FairQueue, type Group } from './fairQueue.js';
import { QueuedJob } from './queuedJob.js';
import { RenderThread, type ThreadEvents, type ThreadOptions } from './renderThread.js';
import type { CheckJob, CheckOutcome, RenderOutcome, TemplateJob, ThreadTask } from './templateJob.js';
import { nowMs } from './threadProgress.js';

export type { CheckJob, CheckOutcome, RenderOutcome, TemplateJob, TemplateRequest } from './templateJob.js';

export interface TemplatePoolOptions {
  /** Threads, started together on first need. Default 1. */
  readonly threads?: number;
  readonly limits?: Partial<TemplateLimits>;
  /** Heap of one thread in MB; a thread that needs more dies. Default 128. */
  readonly maxOldGenerationMb?: number;
  /** Time limit for one job in milliseconds, waiting excluded, after which its thread is terminated. Default 5,000. */
  readonly deadlineMs?: number;
  /** Environment variables of the threads. Default none: templates must not see them. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Renders templates in threads, off the event loop. */
export interface TemplatePool {
  /** Renders all templates of a job in one thread; one outcome each, in order. Rejects for bugs, and when closed. */
  render(job: TemplateJob): Promise<RenderOutcome[]>;
  /** Only compiles, and checks the layouts that are loaded; one outcome each, in order. */
  check(job: CheckJob): Promise<CheckOutcome[]>;
  /** Starts the threads before the first job, which takes 300 ms of CPU time each. */
  warmUp(): void;
  /** Finishes all jobs, then terminates the threads. */
  close(): Promise<void>;
}

/** Starts a pool. A thread terminated because of a job is replaced, and only that job fails. */
export function createTemplatePool(options: TemplatePoolOptions = {}): TemplatePool {
  return new ThreadPool(options);
}

/**
 * Waiting jobs are posted to a thread in groups, because a message costs more than most jobs. Dispatch is deferred to the
 * end of the event loop iteration, to group the jobs that arrive in it.
 */
class ThreadPool implements TemplatePool, ThreadEvents {
  readonly #threads = new Set<RenderThread>();
  /** A stack: the most recently used thread is next, because its caches are warm. */
  readonly #free: RenderThread[] = [];
  readonly #waiting: FairQueue;
  readonly #running = new Map<RenderThread, Group>();
  readonly #open = new Set<Promise<unknown>>();
  readonly #threadCount: number;
  readonly #options: ThreadOptions;
  #isDispatchScheduled = false;
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
  }

  warmUp(): void {
    this.#startThreads();
  }

  render({ contextJson, templates, layouts, tenantid }: TemplateJob): Promise<RenderOutcome[]> {
    return timed(renderings, () => this.#run({ templates, layouts, contextJson }, tenantid));
  }

  async check({ templates, layouts, tenantid }: CheckJob): Promise<CheckOutcome[]> {
    const outcomes = await this.#run({ templates, layouts, contextJson: undefined }, tenantid);
    return outcomes.map((outcome) =>
      outcome.ok ? { ok: true, uses: outcome.uses ?? NO_LAYOUTS, reads: outcome.reads ?? [] } : outcome,
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#open);
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  onFree(thread: RenderThread): void {
    this.#settle(thread);
    this.#free.push(thread);
    this.#dispatch();
  }

  onReturn(jobs: readonly QueuedJob[]): void {
    this.#waiting.requeue(jobs);
    this.#dispatch();
  }

  onEnd(thread: RenderThread, failure: Error | undefined): void {
    this.#threads.delete(thread);
    this.#settle(thread);
    const at = this.#free.indexOf(thread);
    if (at >= 0) this.#free.splice(at, 1);
    // If it failed to start, the next job will retry.
    if (!failure) this.#startThreads();
    else if (this.#threads.size === 0) {
      for (const job of this.#waiting.clear()) job.settle({ bug: failure });
    }
  }

  #run(task: ThreadTask, tenantid: number | undefined): Promise<RenderOutcome[]> {
    if (this.#isClosed) return Promise.reject(new Error('the template pool is closed'));
    this.#startThreads();
    const job = new Promise<RenderOutcome[]>((resolve, reject) => {
      const queued = new QueuedJob(task, resolve, reject, tenantid);
      // Receiving it would already take the memory of the thread.
      if ((task.contextJson?.length ?? 0) > MAX_CONTEXT_CHARACTERS) queued.end(CONTEXT_TOO_LARGE);
      else this.#waiting.add(queued);
    });
    this.#open.add(job);
    const isOver = (): boolean => this.#open.delete(job);
    job.then(isOver, isOver);
    if (!this.#isDispatchScheduled) {
      this.#isDispatchScheduled = true;
      setImmediate(() => {
        this.#isDispatchScheduled = false;
        this.#dispatch();
      });
    }
    return job;
  }

  #startThreads(): void {
    if (this.#isClosed && this.#open.size === 0) return;
    while (this.#threads.size < this.#threadCount) this.#threads.add(new RenderThread(this.#options, this));
  }

  #dispatch(): void {
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
