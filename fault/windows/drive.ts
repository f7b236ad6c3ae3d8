import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from '../rig/rig.js';
import { within } from '../rig/within.js';
import type { FaultWindow } from './window.js';

export interface DriveOptions {
  /** Strikes in each window. */
  readonly times: number;
  /** No strike begins after that; those that are under way are done to their end. */
  readonly mostMs: number;
  readonly say: (line: string) => void;
}

const REPORT_MS = 20_000;
const WAIT_MS = 100;
/** Of its strikes, what a window may be ahead of the one that has most to do. */
const MAX_AHEAD = 0.1;
/** Longest that strikes may take to their end once none begins any more. */
const LAST_STRIKES_MS = 120_000;

/**
 * Strikes in every window so many times, all windows side by side: what each does to the others' mails is part of the
 * load. What is stuck is a complaint, and the run is judged by what was done.
 */
export async function driveWindows(
  rig: Rig,
  windows: readonly FaultWindow[],
  { times, mostMs, say }: DriveOptions,
): Promise<void> {
  const begunAtMs = Date.now();
  const done = new Map(windows.map(({ name }) => [name, 0]));
  const progress = (): string => [...done].map(([name, count]) => `${name} ${count}`).join(', ');
  const reporter = setInterval(() => {
    const minutes = (Date.now() - begunAtMs) / 60_000;
    const pace = `${minutes.toFixed(1)} min, ${(rig.strikes.length / minutes).toFixed(0)} strikes/min`;
    say(`  ${pace}: ${progress()} (${rig.fleet.describe()})`);
  }, REPORT_MS);
  let isOver = false;
  const isTimeUp = (): boolean => isOver || Date.now() - begunAtMs >= mostMs;
  const turnsOf = ({ share = 1 }: FaultWindow): number => Math.ceil(times * share);
  const shareDone = (window: FaultWindow): number => (done.get(window.name) ?? 0) / turnsOf(window);
  // Those that find their prey more easily leave processes to the others, so that a run that is cut off has struck all.
  const isAhead = (window: FaultWindow): boolean =>
    shareDone(window) > Math.min(...windows.map(shareDone)) + MAX_AHEAD + 1 / turnsOf(window);
  const lanes = windows.flatMap((window) => {
    const turns = turnsOf(window);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < turns && !isTimeUp()) {
        if (isAhead(window)) {
          await delay(WAIT_MS);
          continue;
        }
        await window.strike(rig, next++);
        done.set(window.name, (done.get(window.name) ?? 0) + 1);
      }
    };
    return Array.from({ length: window.atOnce }, lane);
  });
  try {
    await within(mostMs + LAST_STRIKES_MS, 'all strikes', Promise.all(lanes));
  } catch (error) {
    rig.complaints.push(`${(error as Error).message}; strikes done: ${progress()}`);
  } finally {
    isOver = true;
    clearInterval(reporter);
  }
}
