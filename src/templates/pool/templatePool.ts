import { Piscina } from 'piscina';
import { DEFAULT_LIMITS } from '../limits.js';
import type { TemplateLimits } from '../limits.js';
import { ThreadDeadline } from './threadDeadline.js';
import type {
  CheckOutcome,
  RenderOutcome,
  TemplateJob,
  TemplateRequest,
  ThreadSettings,
  ThreadTask,
} from './templateJob.js';

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

/** Threads that render templates, away from the event loop. */
export interface TemplatePool {
  /** Renders all templates of a job in one thread; one outcome each, in order. */
  render(job: TemplateJob): Promise<RenderOutcome[]>;
  /** Compiles only; one outcome each, in order. */
  check(templates: readonly TemplateRequest[]): Promise<CheckOutcome[]>;
  /** Ends the threads once what is running has finished. */
  close(): Promise<void>;
}

/** Starts a pool. A thread that is ended for a job is replaced, and only that job fails. */
export function createTemplatePool(options: TemplatePoolOptions = {}): TemplatePool {
  return new PiscinaTemplatePool(options);
}

/** The thread's file beside this one: built, or as TypeScript under a loader. */
function threadFile(): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./templateThread.${extension}`, import.meta.url).href;
}

class PiscinaTemplatePool implements TemplatePool {
  private readonly piscina: Piscina<ThreadTask, RenderOutcome[]>;
  private readonly deadlineMs: number;
  private readonly free: (() => void)[] = [];
  private available: number;

  constructor({
    threads = 1,
    limits = {},
    maxOldGenerationMb = 128,
    deadlineMs = 5_000,
    env = {},
  }: TemplatePoolOptions) {
    const settings: ThreadSettings = { limits: { ...DEFAULT_LIMITS, ...limits } };
    this.deadlineMs = deadlineMs;
    this.available = threads;
    this.piscina = new Piscina<ThreadTask, RenderOutcome[]>({
      filename: threadFile(),
      minThreads: threads,
      maxThreads: threads,
      workerData: settings,
      env: { ...env },
      resourceLimits: {
        maxOldGenerationSizeMb: maxOldGenerationMb,
        maxYoungGenerationSizeMb: 32,
        stackSizeMb: 4,
      },
    });
    // A thread that dies between jobs is replaced like any other; there is nobody to tell.
    this.piscina.on('error', () => undefined);
  }

  async render({ contextJson, templates }: TemplateJob): Promise<RenderOutcome[]> {
    return this.run(templates, contextJson);
  }

  async check(templates: readonly TemplateRequest[]): Promise<CheckOutcome[]> {
    const outcomes = await this.run(templates, undefined);
    return outcomes.map((outcome) => (outcome.ok ? { ok: true } : outcome));
  }

  async close(): Promise<void> {
    await this.piscina.close();
  }

  private async run(
    templates: readonly TemplateRequest[],
    contextJson: string | undefined,
  ): Promise<RenderOutcome[]> {
    await this.acquireThread();
    const deadline = new ThreadDeadline(this.deadlineMs);
    try {
      const task: ThreadTask = { templates, contextJson, startedAt: deadline.startedAt };
      return await this.piscina.run(task, { signal: deadline.signal });
    } catch (error) {
      const message = deathMessage(error, deadline);
      if (message === undefined) throw error;
      return templates.map(({ name }) => ({
        ok: false,
        error: { name, kind: 'limit', message, line: 1, column: 1, sourceLine: '' },
      }));
    } finally {
      deadline.clear();
      this.releaseThread();
    }
  }

  /** Waits for a thread of one's own, so that the deadline counts the job and not the queue. */
  private async acquireThread(): Promise<void> {
    if (this.available > 0) this.available--;
    else await new Promise<void>((resolve) => this.free.push(resolve));
  }

  private releaseThread(): void {
    const next = this.free.shift();
    if (next) next();
    else this.available++;
  }
}

/** Why a thread died, when it was for what its job did; undefined for any other error. */
function deathMessage(error: unknown, deadline: ThreadDeadline): string | undefined {
  if (deadline.signal.aborted) return `rendering took longer than ${deadline.deadlineMs} ms and was ended`;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'rendering ran out of memory and was ended' : undefined;
}
