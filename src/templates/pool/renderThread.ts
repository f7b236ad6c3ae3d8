import { Worker } from 'node:worker_threads';
import type { TemplateLimits } from '../limits.js';
import { REASSIGN_AFTER_MS, type QueuedJob } from './queuedJob.js';
import type { ThreadMessage, ThreadSettings } from './templateJob.js';
import { nowMs, ThreadProgress } from './threadProgress.js';

export interface ThreadOptions {
  readonly limits: TemplateLimits;
  readonly maxOldGenerationMb: number;
  readonly deadlineMs: number;
  readonly env: Readonly<Record<string, string>>;
}

export interface ThreadEvents {
  /** The thread has started, or has finished its group. */
  onFree(thread: RenderThread): void;
  /** Jobs for another thread to run. */
  onReturn(jobs: readonly QueuedJob[]): void;
  /** The thread has exited. @param failure why it never started */
  onEnd(thread: RenderThread, failure: Error | undefined): void;
}

const STARTUP_MS = 30_000;
/** A timer this late means that the process stalled, which says nothing about the running job. */
const MAX_TIMER_LAG_MS = 100;

/** A thread and its current group of jobs. If a job crashes the thread, only that job fails. */
export class RenderThread {
  readonly #progress = new ThreadProgress();
  readonly #worker: Worker;
  /** Jobs of the group that have no result yet, and the number of those that do. */
  #jobs: QueuedJob[] = [];
  #answered = 0;
  #timer: NodeJS.Timeout;
  #watchDueMs = 0;
  #hasStarted = false;
  #isEnding = false;
  #overran = false;
  #error: Error | undefined;

  constructor(
    private readonly options: ThreadOptions,
    private readonly events: ThreadEvents,
  ) {
    const settings: ThreadSettings = { limits: options.limits, progress: this.#progress.memory };
    this.#worker = new Worker(threadFile(), {
      workerData: settings,
      env: { ...options.env },
      resourceLimits: {
        maxOldGenerationSizeMb: options.maxOldGenerationMb,
        maxYoungGenerationSizeMb: 32,
        stackSizeMb: 4,
      },
    });
    this.#worker.on('message', (answer: ThreadMessage) => this.#take(answer));
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#worker.on('exit', (code) => this.#ended(code));
    this.#timer = setTimeout(() => {
      this.#error = new Error(`a rendering thread did not start within ${STARTUP_MS} ms`);
      void this.end();
    }, STARTUP_MS);
  }

  /** The thread must be free. */
  run(group: readonly QueuedJob[]): void {
    this.#jobs = [...group];
    this.#answered = 0;
    this.#progress.reset(group.length);
    this.#worker.ref();
    this.#worker.postMessage(group.map((job) => job.task));
    this.#watchAfter(REASSIGN_AFTER_MS);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #take({ results, isFree }: ThreadMessage): void {
    // There may be more results than jobs, because some reassigned jobs were run regardless.
    const jobs = this.#jobs.splice(0, results.length);
    this.#answered += jobs.length;
    jobs.forEach((job, index) => job.settle(results[index] as (typeof results)[number]));
    // Messages sent before termination still arrive, but the thread accepts no more jobs.
    if (!isFree || this.#isEnding) return;
    this.#hasStarted = true;
    clearTimeout(this.#timer);
    // An idle pool must not keep the process alive.
    this.#worker.unref();
    this.events.onFree(this);
  }

  #watchAfter(ms: number): void {
    this.#watchDueMs = nowMs() + ms;
    this.#timer = setTimeout(() => this.#watch(), ms);
  }

  /** Reassigns the jobs behind the running one, and terminates the thread once that one exceeds its deadline. */
  #watch(): void {
    if (nowMs() - this.#watchDueMs > MAX_TIMER_LAG_MS) {
      this.#watchAfter(this.options.deadlineMs);
      return;
    }
    const task = this.#progress.task;
    const behind = this.#jobs.splice((task?.index ?? 0) + 1 - this.#answered);
    if (behind.length > 0) {
      this.#progress.stopAt(this.#answered + this.#jobs.length);
      this.events.onReturn(behind);
    }
    const { deadlineMs } = this.options;
    const leftMs = task ? task.sinceMs + deadlineMs - nowMs() : deadlineMs;
    if (leftMs > 0) {
      this.#watchAfter(Math.ceil(leftMs));
      return;
    }
    this.#overran = true;
    void this.end();
  }

  #ended(code: number): void {
    clearTimeout(this.#timer);
    const error = this.#error ?? new Error(`a rendering thread ended with code ${code}`);
    // The culprit may not have started, because it was too large to receive.
    const at = (this.#progress.task?.index ?? 0) - this.#answered;
    const [culprit] = this.#jobs.splice(Math.max(at, 0), 1);
    const others = this.#jobs.splice(0);
    if (this.#overran) culprit?.end(`rendering took longer than ${this.options.deadlineMs} ms and was ended`);
    else if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      culprit?.end('rendering ran out of memory and was ended');
    else culprit?.settle({ bug: error });
    // onEnd first: returned jobs must not be dispatched to this thread.
    this.events.onEnd(this, this.#hasStarted ? undefined : error);
    this.events.onReturn(others);
  }
}

/** The built file, or in development the TypeScript source, which the thread's loader handles only via require. */
function threadFile(): URL {
  const file = new URL(`./templateThread${import.meta.url.slice(-3)}`, import.meta.url).href;
  if (file.endsWith('.js')) return new URL(file);
  const require = `(await import('node:module')).createRequire('${file}')`;
  return new URL(`data:text/javascript,${require}('./templateThread.ts')`);
}
