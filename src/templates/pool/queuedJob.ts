import type { RenderOutcome, TaskResult, ThreadTask } from './templateJob.js';

/** A job that waits for a thread or is in one. */
export class QueuedJob {
  /** Of what crosses to the thread, about. */
  readonly characters: number;
  #isSettled = false;

  constructor(
    readonly task: ThreadTask,
    private readonly resolve: (outcomes: RenderOutcome[]) => void,
    private readonly reject: (bug: unknown) => void,
    /** Whose it is; undefined for nobody's in particular. */
    readonly tenantid?: number,
  ) {
    const { contextJson = '', templates } = task;
    this.characters = templates.reduce((sum, { source }) => sum + source.length, contextJson.length);
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  settle(result: TaskResult): void {
    this.#isSettled = true;
    answer(result, this.resolve, this.reject);
  }

  /** Every template of it fails, because its thread had to be ended. */
  end(message: string): void {
    this.#isSettled = true;
    const limit = { kind: 'limit', message, line: 1, column: 1, sourceLine: '' } as const;
    this.resolve(this.task.templates.map(({ name }) => ({ ok: false, error: { name, ...limit } })));
  }
}

/** Settles a promise with what became of a task. */
export function answer(
  result: TaskResult,
  resolve: (outcomes: RenderOutcome[]) => void,
  reject: (bug: unknown) => void,
): void {
  if ('bug' in result) reject(result.bug);
  else resolve(result.outcomes);
}

/** Most jobs that cross to a thread together. */
const MAX_JOBS = 16;
/** Together with their results these are a small part of a thread's memory: a thread that runs out of it does so for the job in hand. */
const MAX_CHARACTERS = 250_000;

/** Takes the first jobs off the queue that may cross together, so many at most; a large one goes alone. */
export function takeGroup(queue: QueuedJob[], mostJobs: number): QueuedJob[] {
  let count = 0;
  let characters = 0;
  for (const job of queue) {
    characters += job.characters;
    if (count === Math.min(MAX_JOBS, mostJobs) || (count > 0 && characters > MAX_CHARACTERS)) break;
    count += 1;
  }
  return queue.splice(0, count);
}
