import type { Rig } from '../rig/rig.js';
import { within } from '../rig/within.js';
import type { FaultWindow } from './window.js';

/**
 * Strikes in every window so many times, all windows side by side: what each does to the others' mails is part of the
 * load. @param timeoutMs after which the run is stuck, and fails with what it waited for
 */
export async function driveWindows(
  rig: Rig,
  windows: readonly FaultWindow[],
  times: number,
  timeoutMs: number,
): Promise<void> {
  const done = new Map(windows.map(({ name }) => [name, 0]));
  const lanes = windows.map(async (window) => {
    const turns = Math.ceil(times * (window.share ?? 1));
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < turns) {
        await window.strike(rig, next++);
        done.set(window.name, (done.get(window.name) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: window.atOnce }, lane));
  });
  const progress = (): string => [...done].map(([name, count]) => `${name} ${count}`).join(', ');
  await within(timeoutMs, 'all strikes', Promise.all(lanes)).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; strikes done: ${progress()}`, { cause: error });
  });
}
