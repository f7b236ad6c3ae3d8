import { Worker } from 'node:worker_threads';
import type { TemplateLimits } from '../limits.js';
import type { QueuedJob } from './queuedJob.js';
import type { ThreadAnswer, ThreadSettings } from './templateJob.js';
import { nowMs, ThreadProgress } from './threadProgress.js';

export interface ThreadOptions {
  readonly limits: TemplateLimits;
  readonly maxOldGenerationMb: number;
  readonly deadlineMs: number;
  readonly env: Readonly<Record<string, string>>;
}

/** What its pool is told. */
export interface ThreadEvents {
  /** It has started, or has done its group. */
  onFree(thread: RenderThread): void;
  /** Jobs that another thread shall run. */
  onReturn(jobs: readonly QueuedJob[]): void;
  /** It is no more. @param failure why it never started */
  onEnd(thread: RenderThread, failure: Error | undefined): void;
}

/** The longest a thread may take to start, in milliseconds. */
const STARTUP_MS = 30_000;
/** After so long the jobs behind the one in hand are given to others. Most groups are done by then. */
const PATIENCE_MS = 50;
/** A look that comes so much too late says that this process stood still, and nothing of the job in hand. */
const LATE_MS = 100;

/** A thread with the group of jobs that it has in hand. What a job does to it is that job's end and no other's. */
export class RenderThread {
  readonly #progress = new ThreadProgress();
  readonly #worker: Worker;
  /** Of its group those that are not answered, and how many are. */
  #jobs: QueuedJob[] = [];
  #answered = 0;
  #timer: NodeJS.Timeout;
  #lookDueMs = 0;
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
    this.#worker.on('message', (answer: ThreadAnswer) => this.#take(answer));
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#worker.on('exit', (code) => this.#ended(code));
    this.#timer = setTimeout(() => {
      this.#error = new Error(`a rendering thread did not start within ${STARTUP_MS} ms`);
      void this.end();
    }, STARTUP_MS);
  }

  /** Only for a thread that is free. */
  run(group: readonly QueuedJob[]): void {
    this.#jobs = [...group];
    this.#answered = 0;
    this.#progress.reset(group.length);
    this.#worker.ref();
    this.#worker.postMessage(group.map((job) => job.task));
    this.#lookAfter(PATIENCE_MS);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#worker.terminate();
  }

  #take({ results, isFree }: ThreadAnswer): void {
    // Behind those that were given to others there may be results all the same.
    const jobs = this.#jobs.splice(0, results.length);
    this.#answered += jobs.length;
    jobs.forEach((job, index) => job.settle(results[index] as (typeof results)[number]));
    // What it had sent before it was told to end still arrives: it takes no more jobs.
    if (!isFree || this.#isEnding) return;
    this.#hasStarted = true;
    clearTimeout(this.#timer);
    // A pool that nobody waits for keeps no process alive.
    this.#worker.unref();
    this.events.onFree(this);
  }

  #lookAfter(ms: number): void {
    this.#lookDueMs = nowMs() + ms;
    this.#timer = setTimeout(() => this.#look(), ms);
  }

  /** The jobs behind the one in hand go to others, and that one is ended when its time is over. */
  #look(): void {
    if (nowMs() - this.#lookDueMs > LATE_MS) {
      this.#lookAfter(this.options.deadlineMs);
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
      this.#lookAfter(Math.ceil(leftMs));
      return;
    }
    this.#overran = true;
    void this.end();
  }

  #ended(code: number): void {
    clearTimeout(this.#timer);
    const error = this.#error ?? new Error(`a rendering thread ended with code ${code}`);
    // One that it had not begun with may have been too large for it.
    const at = (this.#progress.task?.index ?? 0) - this.#answered;
    const [culprit] = this.#jobs.splice(Math.max(at, 0), 1);
    const others = this.#jobs.splice(0);
    if (this.#overran) culprit?.end(`rendering took longer than ${this.options.deadlineMs} ms and was ended`);
    else if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      culprit?.end('rendering ran out of memory and was ended');
    else culprit?.settle({ bug: error });
    // Its end first: what comes back must not be handed to it.
    this.events.onEnd(this, this.#hasStarted ? undefined : error);
    this.events.onReturn(others);
  }
}

/** The file beside this one: built, or as TypeScript, of which a thread's loader sees only what is required. */
function threadFile(): URL {
  const file = new URL(`./templateThread${import.meta.url.slice(-3)}`, import.meta.url).href;
  if (file.endsWith('.js')) return new URL(file);
  const require = `(await import('node:module')).createRequire('${file}')`;
  return new URL(`data:text/javascript,${require}('./templateThread.ts')`);
}
