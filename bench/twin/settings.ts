/** What a process of the twin is started with, as its argument in JSON. */
export interface TwinSettings {
  /** The database of shop, outbox and ledger. */
  readonly database: string;
  /** Redis, or the database of BullMQ. */
  readonly store: string;
  readonly carrier: string;
  /** Emails in flight at once. */
  readonly concurrency: number;
  /** The window in which the process kills itself, now and then. */
  readonly dieIn?: string;
}

export const settings = JSON.parse(process.argv[2] ?? '{}') as TwinSettings;

/** One in so many times that a process comes to its window, it dies there. */
const DEATHS = 12;

/** The process is between two steps: see the table of windows in README.md. */
export function passWindow(name: string): void {
  if (settings.dieIn === name && Math.random() < 1 / DEATHS) process.kill(process.pid, 'SIGKILL');
}
