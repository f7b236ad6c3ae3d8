import { setTimeout as delay } from 'node:timers/promises';
import { reportHistory, type HistoryRow } from './history/report.js';
import { AFTERMATHS, strikeHistory, WAYS, type HistoryStrike } from './history/strike.js';
import { runChecked, type RunResult } from './checkedRun.js';
import type { Backend } from './markers.js';
import { TIME_MACHINE_SETTINGS } from './rig/timeMachine.js';

export interface HistoryOptions {
  readonly backend: Backend;
  /** How often PostgreSQL goes back. */
  readonly kills: number;
  /** How far at most. */
  readonly seconds: number;
  /** No strike starts after this many minutes. */
  readonly minutes: number | undefined;
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

const SHOPS = 3;
const WARM_UP_MS = 1_000;
/** So that some emails are always in flight. */
const PROVIDER_MS = 150;
const LEAST_BACK_MS = 1_000;

/** Makes PostgreSQL go back in time under load, and checks by what survived. */
export function runHistory({
  kills,
  seconds,
  minutes,
  ...options
}: HistoryOptions): Promise<RunResult<HistoryRow>> {
  return runChecked({
    ...options,
    shops: SHOPS,
    strength: { web: 2, relay: 2, worker: 2 },
    postgresSettings: TIME_MACHINE_SETTINGS,
    async disturb(rig) {
      const slow = { kind: 'slow', ms: PROVIDER_MS } as const;
      await rig.carrier.behave(Object.fromEntries(rig.shops.map(({ apiKey }) => [apiKey, slow])));
      await delay(WARM_UP_MS);
      const strikes: HistoryStrike[] = [];
      const untilMs = Date.now() + (minutes ?? Infinity) * 60_000;
      for (let turn = 0; turn < kills && Date.now() < untilMs; turn++) {
        const way = WAYS[turn % WAYS.length] ?? 'restored';
        const aftermath = AFTERMATHS[Math.floor(Math.random() * AFTERMATHS.length)] ?? 'nothing';
        // Log-uniform: short times are as likely as long ones.
        const backMs = LEAST_BACK_MS * Math.max(1, seconds) ** Math.random();
        const strike = await strikeHistory(rig, { way, aftermath, backMs });
        strikes.push(strike);
        const recovery = strike.recoveryMs === undefined ? 'NOT recovered' : `${strike.recoveryMs} ms`;
        options.say(`  ${turn + 1}: ${way}, ${Math.round(strike.backMs)} ms back, ${aftermath}: ${recovery}`);
      }
      return (accounts, duplicates) => reportHistory(rig, strikes, accounts, duplicates);
    },
  });
}
