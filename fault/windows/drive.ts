import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from '../rig/rig.js';
import { within } from '../rig/within.js';
import { turnsOf, type FaultWindow } from './window.js';

export interface DriveOptions {
  /** Strikes in each window. */
  readonly times: number;
  /** No strike starts after this time; those in progress are completed. */
  readonly maxMs: number;
  readonly say: (line: string) => void;
}

const REPORT_MS = 20_000;
const WAIT_MS = 100;
/** Share of its strikes by which a window may be ahead of the slowest one. */
const MAX_AHEAD = 0.1;
/** Longest wait for strikes in progress once no more are started. */
const LAST_STRIKES_MS = 120_000;

/**
 * Strikes `times` times in every window, all windows concurrently: the disturbance of each is part of the load on the
 * others. A strike that gets stuck is reported as a complaint, and the run is determined by what was done.
 */
export async function driveWindows(
  rig: Rig,
  windows: readonly FaultWindow[],
  { times, maxMs, say }: DriveOptions,
): Promise<void> {
  const startedAtMs = Date.now();
  const done = new Map(windows.map(({ name }) => [name, 0]));
  const progress = (): string => [...done].map(([name, count]) => `${name} ${count}`).join(', ');
  const reporter = setInterval(() => {
    const minutes = (Date.now() - startedAtMs) / 60_000;
    const pace = `${minutes.toFixed(1)} min, ${(rig.strikes.length / minutes).toFixed(0)} strikes/min`;
    say(`  ${pace}: ${progress()} (${rig.fleet.describe()})`);
  }, REPORT_MS);
  let isOver = false;
  const isTimeUp = (): boolean => isOver || Date.now() - startedAtMs >= maxMs;
  const shareDone = (window: FaultWindow): number => (done.get(window.name) ?? 0) / turnsOf(window, times);
  // Faster windows wait for slower ones, so that a run that is cut off has struck in all of them.
  const isAhead = (window: FaultWindow): boolean =>
    shareDone(window) > Math.min(...windows.map(shareDone)) + MAX_AHEAD + 1 / turnsOf(window, times);
  const workers = windows.flatMap((window) => {
    const turns = turnsOf(window, times);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < turns && !isTimeUp()) {
        if (isAhead(window)) {
          await delay(WAIT_MS);
          continue;
        }
        await window.strike(rig, next++);
        done.set(window.name, (done.get(window.name) ?? 0) + 1);
      }
    };
    return Array.from({ length: window.atOnce }, worker);
  });
  try {
    await within(maxMs + LAST_STRIKES_MS, 'all strikes', Promise.all(workers));
  } catch (error) {
    rig.complaints.push(`${(error as Error).message}; strikes done: ${progress()}`);
  } finally {
    isOver = true;
    clearInterval(reporter);
  }
}
