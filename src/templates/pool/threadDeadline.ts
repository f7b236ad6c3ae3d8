/** The longest a thread may take to start, in milliseconds, before its job is given up. */
const STARTUP_MS = 30_000;

/** Ends a job that runs too long. Time counts from when the thread takes the job up, not from when it was posted. */
export class ThreadDeadline {
  /** The thread writes the time it began here. */
  readonly startedAt = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  private readonly controller = new AbortController();
  private readonly postedAt = Date.now();
  private timer: NodeJS.Timeout;

  constructor(readonly deadlineMs: number) {
    this.timer = this.lookAgain(deadlineMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  private lookAgain(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const leftMs = this.dueAt() - Date.now();
      if (leftMs <= 0) this.controller.abort();
      else this.timer = this.lookAgain(Math.min(leftMs, this.deadlineMs));
    }, afterMs);
  }

  private dueAt(): number {
    const [startedAt = 0] = new Float64Array(this.startedAt);
    return startedAt === 0 ? this.postedAt + STARTUP_MS : startedAt + this.deadlineMs;
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}
