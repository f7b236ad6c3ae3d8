import type { Rig } from '../rig/rig.js';
import { within } from '../rig/within.js';
import type { FaultWindow } from './window.js';

export interface DriveOptions {
  /** After that the run is stuck, and fails with what it waited for. */
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
}

const REPORT_MS = 20_000;

/**
 * Strikes in every window so many times, all windows side by side: what each does to the others' mails is part of the
 * load.
 */
export async function driveWindows(
  rig: Rig,
  windows: readonly FaultWindow[],
  times: number,
  { timeoutMs, say }: DriveOptions,
): Promise<void> {
  const done = new Map(windows.map(({ name }) => [name, 0]));
  const progress = (): string => [...done].map(([name, count]) => `${name} ${count}`).join(', ');
  const reporter = setInterval(() => say(`  ${progress()} (${rig.fleet.describe()})`), REPORT_MS);
  let isOver = false;
  const lanes = windows.flatMap((window) => {
    const turns = Math.ceil(times * (window.share ?? 1));
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < turns && !isOver) {
        await window.strike(rig, next++);
        done.set(window.name, (done.get(window.name) ?? 0) + 1);
      }
    };
    return Array.from({ length: window.atOnce }, lane);
  });
  try {
    await within(timeoutMs, 'all strikes', Promise.all(lanes));
  } catch (error) {
    throw new Error(`${(error as Error).message}; strikes done: ${progress()}`, { cause: error });
  } finally {
    isOver = true;
    clearInterval(reporter);
  }
}
