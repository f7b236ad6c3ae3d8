import { reportFailovers, type FailoverRow } from './failover/report.js';
import type { Failover } from './failover/strike.js';
import { runChecked, type RunResult } from './checkedRun.js';
import type { Backend } from './markers.js';
import { PATRONI_WAYS, strikePatroni, type PatroniWay } from './patroni/strike.js';
import type { Route } from './rig/rig.js';

export interface PatroniOptions {
  readonly backend: Backend;
  readonly route: Route;
  /** How many servers are struck. */
  readonly kills: number;
  /** Each as often as any other, in random order; all by default. */
  readonly ways?: readonly PatroniWay[];
  /** No strike starts after this many minutes. */
  readonly minutes: number | undefined;
  /** Mutations per second. */
  readonly rate: number;
  readonly say: (line: string) => void;
}

const SHOPS = 3;
/** So that some emails are always in flight. */
const PROVIDER_MS = 100;
/** From the promotion to the first order, and to the first email. */
const MAX_MS = 10_000;

/** Takes servers away from Patroni's cluster, and leaders their lock, under load. */
export function runPatroni({
  kills,
  minutes,
  ways = PATRONI_WAYS,
  ...options
}: PatroniOptions): Promise<RunResult<FailoverRow>> {
  options.say(`Patroni's leader is found by ${options.route}`);
  return runChecked({
    ...options,
    shops: SHOPS,
    strength: { web: 2, relay: 2, worker: 2 },
    async disturb(rig) {
      const slow = { kind: 'slow', ms: PROVIDER_MS } as const;
      await rig.carrier.behave(Object.fromEntries(rig.shops.map(({ apiKey }) => [apiKey, slow])));
      const failovers: Failover[] = [];
      const untilMs = Date.now() + (minutes ?? Infinity) * 60_000;
      let left: PatroniWay[] = [];
      while (failovers.length < kills && Date.now() < untilMs) {
        if (left.length === 0) left = [...ways];
        const [way = 'leader killed'] = left.splice(Math.floor(Math.random() * left.length), 1);
        const failover = await strikePatroni(rig, way);
        failovers.push(failover);
        const { lostAtMs, promotedAtMs, writesMs = Infinity, emailsMs = Infinity, recoveryMs } = failover;
        options.say(
          `  ${failovers.length}: ${way}; replaced after ${promotedAtMs - lostAtMs} ms; ` +
            `then writes ${writesMs} ms, emails ${emailsMs} ms, all ${recoveryMs ?? Infinity} ms`,
        );
        if (Math.max(writesMs, emailsMs) > MAX_MS)
          rig.complaints.push(`${way}: writes ${writesMs} ms and emails ${emailsMs} ms after the promotion`);
      }
      await rig.patroni?.whole();
      return (accounts, duplicates) => reportFailovers(rig, PATRONI_WAYS, failovers, accounts, duplicates);
    },
  });
}
