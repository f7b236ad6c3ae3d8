import { NO_LAYOUTS } from '../jinja2/compileLayouts.js';
import { DEFAULT_LIMITS, type TemplateLimits } from '../limits.js';
import { CONTEXT_TOO_LARGE, MAX_CONTEXT_CHARACTERS } from '../renderContext.js';
import { FairQueue, type Group } from './fairQueue.js';
import { QueuedJob } from './queuedJob.js';
import { RenderProcess, type RenderProcessEvents, type RenderProcessOptions } from './renderProcess.js';
import type { CheckJob, CheckOutcome, RenderOutcome, TemplateJob, RenderTask } from './templateJob.js';

export type { CheckJob, CheckOutcome, RenderOutcome, TemplateJob, TemplateRequest } from './templateJob.js';

export interface TemplatePoolOptions {
  /** Processes, started together on first need. Default 1. */
  readonly processes?: number;
  readonly limits?: Partial<TemplateLimits>;
  /** Heap of one process in MB; one that needs more dies. Default 128. */
  readonly maxOldGenerationMb?: number;
  /** Time limit for one job in milliseconds, waiting excluded, after which its process is ended. Default 5,000. */
  readonly deadlineMs?: number;
  /** Called when a job to render has ended, with the time that it took, waiting included. */
  readonly onRendered?: (durationMs: number) => void;
}

/** Renders templates in processes of their own, off the event loop. */
export interface TemplatePool {
  /** Renders all templates of a job in one process; one outcome each, in order. Rejects for bugs, and when closed. */
  render(job: TemplateJob): Promise<RenderOutcome[]>;
  /** Only compiles, and checks the layouts that are loaded; one outcome each, in order. */
  check(job: CheckJob): Promise<CheckOutcome[]>;
  /** Starts the processes before the first job, which takes 300 ms of CPU time each. */
  warmUp(): void;
  /** Finishes all jobs, then ends the processes. */
  close(): Promise<void>;
}

/** Starts a pool. A process that a job ended is replaced, and only that job fails. */
export function createTemplatePool(options: TemplatePoolOptions = {}): TemplatePool {
  return new ProcessPool(options);
}

/**
 * Waiting jobs are sent to a process in groups, because a message costs more than most jobs. Dispatch is deferred to the
 * end of the event loop iteration, to group the jobs that arrive in it.
 */
class ProcessPool implements TemplatePool, RenderProcessEvents {
  readonly #processes = new Set<RenderProcess>();
  /** A stack: the most recently used process is next, because its caches are warm. */
  readonly #free: RenderProcess[] = [];
  readonly #waiting: FairQueue;
  readonly #running = new Map<RenderProcess, Group>();
  readonly #open = new Set<Promise<unknown>>();
  readonly #processCount: number;
  readonly #options: RenderProcessOptions;
  readonly #onRendered: ((durationMs: number) => void) | undefined;
  #isDispatchScheduled = false;
  #isClosed = false;

  constructor({
    processes = 1,
    limits = {},
    maxOldGenerationMb = 128,
    deadlineMs = 5_000,
    onRendered,
  }: TemplatePoolOptions) {
    this.#processCount = processes;
    this.#waiting = new FairQueue(processes, () => performance.now());
    this.#options = { limits: { ...DEFAULT_LIMITS, ...limits }, maxOldGenerationMb, deadlineMs };
    this.#onRendered = onRendered;
  }

  warmUp(): void {
    this.#startProcesses();
  }

  async render({ contextJson, templates, layouts, tenantid }: TemplateJob): Promise<RenderOutcome[]> {
    const startedAtMs = performance.now();
    try {
      return await this.#run({ templates, layouts, contextJson }, tenantid);
    } finally {
      this.#onRendered?.(performance.now() - startedAtMs);
    }
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
    await Promise.all([...this.#processes].map((process) => process.end()));
  }

  onFree(process: RenderProcess): void {
    this.#settle(process);
    this.#free.push(process);
    this.#dispatch();
  }

  onReturn(jobs: readonly QueuedJob[]): void {
    this.#waiting.requeue(jobs);
    this.#dispatch();
  }

  onEnd(process: RenderProcess, failure: Error | undefined): void {
    this.#processes.delete(process);
    this.#settle(process);
    const at = this.#free.indexOf(process);
    if (at >= 0) this.#free.splice(at, 1);
    // If it failed to start, the next job will retry.
    if (!failure) this.#startProcesses();
    else if (this.#processes.size === 0) {
      for (const job of this.#waiting.clear()) job.settle({ bug: failure });
    }
  }

  #run(task: RenderTask, tenantid: number | undefined): Promise<RenderOutcome[]> {
    if (this.#isClosed) return Promise.reject(new Error('the template pool is closed'));
    this.#startProcesses();
    const job = new Promise<RenderOutcome[]>((resolve, reject) => {
      const queued = new QueuedJob(task, resolve, reject, tenantid);
      // Receiving it would already take the memory of the process.
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

  #startProcesses(): void {
    if (this.#isClosed && this.#open.size === 0) return;
    while (this.#processes.size < this.#processCount)
      this.#processes.add(new RenderProcess(this.#options, this));
  }

  #dispatch(): void {
    while (this.#free.length > 0) {
      const group = this.#waiting.take();
      const process = group && this.#free.pop();
      if (!process) return;
      this.#running.set(process, group);
      process.run(group.jobs);
    }
  }

  #settle(process: RenderProcess): void {
    const group = this.#running.get(process);
    if (!group) return;
    this.#running.delete(process);
    this.#waiting.settle(group);
  }
}
