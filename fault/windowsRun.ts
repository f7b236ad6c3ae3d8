import { setTimeout as delay } from 'node:timers/promises';
import { readAccounts } from './analysis/accounts.js';
import { findDuplicates } from './analysis/duplicates.js';
import { reportWindows, type WindowRow } from './analysis/windowReport.js';
import { judge, type Verdict } from './invariants/index.js';
import type { Backend } from './markers.js';
import { createRig, GRACE_MS } from './rig/rig.js';
import { settle } from './rig/settle.js';
import { startWitness } from './rig/witness.js';
import { driveWindows } from './windows/drive.js';
import { WINDOWS } from './windows/index.js';

export interface WindowsOptions {
  readonly backend: Backend;
  /** Strikes in each window. */
  readonly kills: number;
  /** Names of windows; all when empty. */
  readonly only: readonly string[];
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

export interface WindowsResult {
  readonly backend: Backend;
  readonly rows: readonly WindowRow[];
  readonly verdicts: readonly Verdict[];
  /** What was wrong besides: late exits, processes that ended by themselves. */
  readonly complaints: readonly string[];
  readonly orders: number;
  readonly mails: number;
  readonly seconds: number;
}

const SHOPS = 4;
const STRENGTH = { web: 3, relay: 5, worker: 9 } as const;
const WARM_UP_MS = 1_000;
const SETTLE_MS = 90_000;
/** A strike that takes longer on average than this means that the run is stuck. */
const MOST_PER_STRIKE_MS = 15_000;

/** Drives the windows under load, and judges the run. */
export async function runWindows(options: WindowsOptions): Promise<WindowsResult> {
  const { backend, kills, only, rate, say } = options;
  const begunAtMs = Date.now();
  const rig = await createRig({ backend, shops: SHOPS, strength: STRENGTH });
  try {
    const windows = WINDOWS.filter(({ name }) => only.length === 0 || only.includes(name));
    say(`${backend}: ${STRENGTH.web} web, ${STRENGTH.relay} relay and ${STRENGTH.worker} worker processes are up`);
    const witness = startWitness(rig);
    rig.load.start(rate);
    await delay(WARM_UP_MS);
    await driveWindows(rig, windows, kills, 60_000 + kills * MOST_PER_STRIKE_MS);
    await rig.load.stop();
    say(`${rig.strikes.length} strikes done after ${since(begunAtMs)} s; waiting for the last mails`);
    await settle(rig, SETTLE_MS);
    await witness.stop();
    await rig.fleet.stop(GRACE_MS * 2);
    const accounts = await readAccounts(rig);
    const duplicates = findDuplicates(accounts, rig.strikes);
    const { unexpectedExits, failedStarts } = rig.fleet;
    return {
      backend,
      rows: reportWindows(rig, windows, accounts, duplicates),
      verdicts: await judge({ rig, accounts, duplicates, witness }),
      complaints: [
        ...rig.complaints,
        ...unexpectedExits.map((exit) => `${exit.name} ended by itself (${String(exit.code)}):\n${exit.lastWords}`),
        ...failedStarts.map(({ message }) => message),
      ],
      orders: accounts.expected.length,
      mails: [...accounts.accepted.values()].flat().length,
      seconds: since(begunAtMs),
    };
  } finally {
    await rig.stop();
  }
}

function since(atMs: number): number {
  return Math.round((Date.now() - atMs) / 1000);
}
