import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { TemplateLimits } from '../limits.js';
import type { QueuedJob } from './queuedJob.js';
import { PROGRESS_FD, REASSIGN_AFTER_MS, type RenderGroup, type RenderMessage } from './renderProtocol.js';

export interface RenderProcessOptions {
  readonly limits: TemplateLimits;
  readonly maxOldGenerationMb: number;
  readonly deadlineMs: number;
}

export interface RenderProcessEvents {
  /** The process has started, or has finished its group. */
  onFree(process: RenderProcess): void;
  /** Jobs for another process to run. */
  onReturn(jobs: readonly QueuedJob[]): void;
  /** The process has exited. @param failure why it never started */
  onEnd(process: RenderProcess, failure: Error | undefined): void;
}

const STARTUP_MS = 30_000;
/** A timer this late means that the service stalled, which says nothing about the running job. */
const MAX_TIMER_LAG_MS = 100;
/** How V8 ends a process whose memory does not suffice: it can't be caught. */
const OUT_OF_MEMORY: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];
/** Of what a process says on standard error, for the error if it does not start. */
const MAX_SAID = 2_000;
const STACK_KB = 3_900;

/** A process that renders, and its current group of jobs. If a job ends the process, only that job fails. */
export class RenderProcess {
  readonly #child: ChildProcess;
  /** Jobs of the group that have no result yet. */
  #jobs: QueuedJob[] = [];
  /** Numbers, counted over all groups: of the first of `#jobs`, of the next group's first, and of the task that started last. */
  #number = 0;
  #next = 0;
  #started: { readonly number: number; readonly sinceMs: number } | undefined;
  #timer: NodeJS.Timeout;
  #watchDueMs = 0;
  #hasStarted = false;
  #isEnding = false;
  #overran = false;
  #error: Error | undefined;
  #said = '';

  constructor(
    private readonly options: RenderProcessOptions,
    private readonly events: RenderProcessEvents,
  ) {
    const { file, flags } = program();
    this.#child = fork(file, [JSON.stringify(options.limits)], {
      serialization: 'advanced',
      // None of the service's: it holds no secret.
      env: process.env['TZ'] === undefined ? {} : { TZ: process.env['TZ'] },
      execArgv: [...flags, `--max-old-space-size=${options.maxOldGenerationMb}`, `--stack-size=${STACK_KB}`],
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'],
    });
    leaveNoMemory(this.#child.pid);
    this.#child.on('message', (message: RenderMessage) => this.#take(message));
    const [progress, said] = [this.#child.stdio[PROGRESS_FD] as Readable, this.#child.stderr as Readable];
    progress.on('data', (bytes: Buffer) => this.#note(bytes.readUInt32LE(bytes.length - 4)));
    said.setEncoding('utf8').on('data', (text: string) => {
      this.#said = `${this.#said}${text}`.slice(-MAX_SAID);
    });
    this.#child.on('error', (error) => {
      this.#error = error;
      if (this.#child.pid === undefined) this.#ended(null, null);
    });
    // Not before what it wrote has arrived.
    this.#child.on('close', (code, signal) => this.#ended(code, signal));
    // An idle pool must not keep the service alive; a running job's timer does.
    this.#child.unref();
    this.#child.channel?.unref();
    for (const stream of [progress, said]) {
      // They break as the process ends, which 'close' reports.
      stream.on('error', () => undefined);
      (stream as Partial<{ unref(): void }>).unref?.();
    }
    this.#timer = setTimeout(() => {
      this.#error = new Error(`a render process did not start within ${STARTUP_MS} ms: ${this.#said}`);
      void this.end();
    }, STARTUP_MS);
  }

  /** The process must be free. */
  run(group: readonly QueuedJob[]): void {
    this.#jobs = [...group];
    const first = this.#next;
    this.#number = first;
    this.#next += group.length;
    this.#send({ first, tasks: group.map((job) => job.task) });
    this.#watchAfter(REASSIGN_AFTER_MS);
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await exited;
  }

  #send(group: RenderGroup): void {
    // If it has just ended, `#ended` returns the jobs.
    this.#child.send(group, () => undefined);
  }

  #note(number: number): void {
    this.#started = { number, sinceMs: performance.now() };
  }

  #take({ results, isFree }: RenderMessage): void {
    // There may be more results than jobs, because some reassigned jobs were run regardless.
    const jobs = this.#jobs.splice(0, results.length);
    this.#number += jobs.length;
    jobs.forEach((job, index) => job.settle(results[index] as (typeof results)[number]));
    // Messages sent before it ended still arrive, but it accepts no more jobs.
    if (!isFree || this.#isEnding) return;
    this.#hasStarted = true;
    clearTimeout(this.#timer);
    this.events.onReturn(this.#jobs.splice(0));
    this.events.onFree(this);
  }

  #watchAfter(ms: number): void {
    this.#watchDueMs = performance.now() + ms;
    this.#timer = setTimeout(() => this.#watch(), ms);
  }

  /** Reassigns the jobs behind the running one, and ends the process once that one exceeds its deadline. */
  #watch(): void {
    const { deadlineMs } = this.options;
    if (performance.now() - this.#watchDueMs > MAX_TIMER_LAG_MS) {
      this.#watchAfter(deadlineMs);
      return;
    }
    this.events.onReturn(this.#jobs.splice(this.#running + 1));
    const sinceMs = this.#runningSinceMs;
    const leftMs = sinceMs === undefined ? deadlineMs : sinceMs + deadlineMs - performance.now();
    if (leftMs > 0) {
      this.#watchAfter(Math.ceil(leftMs));
      return;
    }
    this.#overran = true;
    void this.end();
  }

  /** Index of the running job. The first may not have started, because it takes long to receive. */
  get #running(): number {
    return Math.max((this.#started?.number ?? 0) - this.#number, 0);
  }

  get #runningSinceMs(): number | undefined {
    return this.#started && this.#started.number >= this.#number ? this.#started.sinceMs : undefined;
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    clearTimeout(this.#timer);
    this.#isEnding = true;
    const error = this.#error ?? new Error(`a render process ended (${signal ?? code}): ${this.#said}`);
    const [culprit] = this.#jobs.splice(this.#running, 1);
    const others = this.#jobs.splice(0);
    if (this.#overran) culprit?.end(`rendering took longer than ${this.options.deadlineMs} ms and was ended`);
    else if (OUT_OF_MEMORY.includes(signal)) culprit?.end('rendering ran out of memory and was ended');
    else culprit?.settle({ bug: error });
    // onEnd first: returned jobs must not be dispatched to this process.
    this.events.onEnd(this, this.#hasStarted ? undefined : error);
    this.events.onReturn(others);
  }
}

/**
 * Linux writes the memory of a process that aborts to a file, where it is told to: hundreds of megabytes each time, with data of
 * all tenants that it served. Other systems have no such file.
 */
function leaveNoMemory(pid: number | undefined): void {
  if (pid !== undefined) writeFile(`/proc/${pid}/coredump_filter`, '0', () => undefined);
}

/** The built file, which may read nothing but itself, start nothing and write nowhere; or in development the TypeScript source. */
function program(): { readonly file: string; readonly flags: readonly string[] } {
  const extension = import.meta.url.slice(-3);
  const file = fileURLToPath(new URL(`./renderProgram${extension}`, import.meta.url));
  return { file, flags: extension === '.ts' ? ['--import', 'tsx'] : confinedTo(file) };
}

/** Flags of Node.js for a program that may read no file but its own: https://nodejs.org/api/permissions.html */
export function confinedTo(file: string): readonly string[] {
  const permission =
    Number.parseInt(process.versions.node) < 24 ? '--experimental-permission' : '--permission';
  return [permission, '--no-warnings', `--allow-fs-read=${file}`];
}
