import type { RenderOutcome, TaskResult, RenderTask } from './templateJob.js';

/** A job waiting for a process or running in one. */
export class QueuedJob {
  /** Approximate size of the message to the process. */
  readonly characters: number;
  #isSettled = false;

  constructor(
    readonly task: RenderTask,
    private readonly resolve: (outcomes: RenderOutcome[]) => void,
    private readonly reject: (bug: unknown) => void,
    /** Undefined for a job without a tenant. */
    readonly tenantid?: number,
  ) {
    const { contextJson = '', templates, layouts = {} } = task;
    const sources = [...templates.map(({ source }) => source), ...Object.values(layouts)];
    this.characters = sources.reduce((sum, { length }) => sum + length, contextJson.length);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  settle(result: TaskResult): void {
    this.#isSettled = true;
    if ('bug' in result) this.reject(result.bug);
    else this.resolve(result.outcomes);
  }

  /** Fails every template: its process was ended, or it is too large for one. */
  end(message: string): void {
    this.#isSettled = true;
    const limit = { kind: 'limit', message, line: 1, column: 1, sourceLine: '' } as const;
    this.resolve(this.task.templates.map(({ name }) => ({ ok: false, error: { name, ...limit } })));
  }
}

/** Maximum jobs per message to a process. */
const MAX_JOBS = 16;
/** A small part of a process's heap, including results, so that running out of memory is the running job's fault. */
const MAX_CHARACTERS = 250_000;

/** Removes the first jobs that may be sent together, at most `maxJobs`; a large job is sent alone. */
export function takeGroup(queue: QueuedJob[], maxJobs: number): QueuedJob[] {
  let count = 0;
  let characters = 0;
  for (const job of queue) {
    characters += job.characters;
    if (count === Math.min(MAX_JOBS, maxJobs) || (count > 0 && characters > MAX_CHARACTERS)) break;
    count += 1;
  }
  return queue.splice(0, count);
}
