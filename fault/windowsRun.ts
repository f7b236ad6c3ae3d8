import { setTimeout as delay } from 'node:timers/promises';
import { reportWindows, type WindowRow } from './analysis/windowReport.js';
import { runChecked, type RunResult } from './checkedRun.js';
import type { Backend } from './markers.js';
import type { Strength } from './rig/fleet.js';
import type { Part } from './rig/member.js';
import type { ShopCarrier } from './rig/shopCarrier.js';
import { driveWindows } from './windows/drive.js';
import { WINDOWS } from './windows/index.js';
import { turnsOf, type FaultWindow } from './windows/window.js';

export interface WindowsOptions {
  readonly backend: Backend;
  /** Strikes in each window. */
  readonly kills: number;
  /** What the shops send with, round-robin. */
  readonly carriers: readonly ShopCarrier[];
  /** Names of windows; all when empty. */
  readonly only: readonly string[];
  /** No strike starts after this many minutes; by default long enough for all strikes. */
  readonly minutes: number | undefined;
  /** PgBouncer between processes and PostgreSQL. */
  readonly pooled?: boolean;
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

const SHOPS = 4;
/** Enough to continue while one of each is being replaced. */
const UNDISTURBED: Strength = { web: 2, relay: 2, worker: 3 };
const WARM_UP_MS = 1_000;
/** A run counts as stuck if a strike in each window takes longer than this on average. */
const MAX_PER_STRIKE_MS = 30_000;
const MAX_FOR_ALL_MS = 120_000;

/** Drives the windows under load, and checks the run. */
export function runWindows({
  only,
  kills,
  minutes,
  ...options
}: WindowsOptions): Promise<RunResult<WindowRow>> {
  const windows = WINDOWS.filter(({ name }) => only.length === 0 || only.includes(name));
  return runChecked({
    ...options,
    shops: SHOPS,
    sqlWriters: true,
    strength: strengthFor(windows, kills),
    async disturb(rig) {
      await delay(WARM_UP_MS);
      const maxMs = minutes === undefined ? MAX_FOR_ALL_MS + kills * MAX_PER_STRIKE_MS : minutes * 60_000;
      await driveWindows(rig, windows, { times: kills, maxMs, say: options.say });
      return (accounts, duplicates) => reportWindows(rig, windows, accounts, duplicates);
    },
  });
}

/** Adds processes for windows that pause some for a long time: as many as are paused at once. */
function strengthFor(windows: readonly FaultWindow[], kills: number): Strength {
  const missing = (part: Part): number =>
    windows
      .filter(({ keeps }) => keeps === part)
      .reduce((sum, window) => sum + Math.min(window.atOnce, turnsOf(window, kills)), 0);
  const { web, relay, worker } = UNDISTURBED;
  return { web: web + missing('web'), relay: relay + missing('relay'), worker: worker + missing('worker') };
}
