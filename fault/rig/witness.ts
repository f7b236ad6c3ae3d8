import type { Rig } from './rig.js';

/** What was observed during the run and can't be derived afterwards. */
export interface Witness {
  /** Deliveries whose final state changed. */
  readonly changedEndings: readonly string[];
  /** The longest that an open delivery was overdue. */
  readonly maxOverdue: { readonly seconds: number; readonly deliveryid: string | null };
  /** Checks once more, then stops. */
  stop(): Promise<void>;
}

const POLL_MS = 1_000;
/** Share of the time that comparing the many final states may take. */
const SHARE_FOR_ENDINGS = 0.05;
const ENDINGS_MS = 10_000;

/** Grace after PostgreSQL went back, everything that survived was sent, and all processes ran: for work that became due meanwhile. */
const CATCH_UP_MS = 10_000;

/** Polls the ledger. Polls that fail because PostgreSQL is down are skipped. */
export function startWitness({ ledger, timeMachine }: Rig): Witness {
  const endings = new Map<string, string>();
  const changedEndings: string[] = [];
  let maxOverdue: Witness['maxOverdue'] = { seconds: 0, deliveryid: null };
  let nextEndingsAtMs = Date.now() + ENDINGS_MS;
  let looking: Promise<void> | undefined;
  timeMachine.listeners.push(() => endings.clear());
  const isCatchingUp = (): boolean => {
    const last = timeMachine.lostTimes.at(-1);
    return last !== undefined && Date.now() < (last.recoveredAtMs ?? Infinity) + CATCH_UP_MS;
  };

  const compareEndings = async (): Promise<void> => {
    const startedAtMs = Date.now();
    for (const [deliveryid, state] of await ledger.ended()) {
      const before = endings.get(deliveryid);
      if (before !== undefined && before !== state)
        changedEndings.push(`${deliveryid} (${before} → ${state})`);
      endings.set(deliveryid, state);
    }
    nextEndingsAtMs = Date.now() + Math.max(ENDINGS_MS, (Date.now() - startedAtMs) / SHARE_FOR_ENDINGS);
  };
  const look = async (): Promise<void> => {
    const overdue = await ledger.longestOverdue();
    if (!isCatchingUp() && overdue.seconds > maxOverdue.seconds) maxOverdue = overdue;
    if (Date.now() >= nextEndingsAtMs) await compareEndings();
  };
  const timer = setInterval(() => {
    looking ??= look()
      .catch(() => undefined)
      .finally(() => (looking = undefined));
  }, POLL_MS);
  return {
    changedEndings,
    get maxOverdue() {
      return maxOverdue;
    },
    async stop() {
      clearInterval(timer);
      await looking;
      await compareEndings();
    },
  };
}
