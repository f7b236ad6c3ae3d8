import type { Rig } from './rig.js';

/** What was seen while it ran, that can't be told from the end. */
export interface Witness {
  /** Deliveries whose ending changed afterwards. */
  readonly changedEndings: readonly string[];
  /** The most that an open delivery was past the time at which somebody was to look at it. */
  readonly mostOverdue: { readonly seconds: number; readonly deliveryid: string | null };
  /** One more look, then no more. */
  stop(): Promise<void>;
}

const LOOK_MS = 1_000;
/** Endings are many: comparing them may take this share of the time. */
const SHARE_FOR_ENDINGS = 0.05;
const ENDINGS_MS = 10_000;

/** After PostgreSQL has gone back and what survived is sent, what was due meanwhile may take so long. */
const CATCH_UP_MS = 10_000;

/** Looks at the ledger all the time. A look that fails, because PostgreSQL is away, is left out. */
export function startWitness({ ledger, timeMachine }: Rig): Witness {
  const endings = new Map<string, string>();
  const changedEndings: string[] = [];
  let mostOverdue: Witness['mostOverdue'] = { seconds: 0, deliveryid: null };
  let nextEndingsAtMs = Date.now() + ENDINGS_MS;
  let looking: Promise<void> | undefined;
  timeMachine.listeners.push(() => endings.clear());
  const isCatchingUp = (): boolean => {
    const last = timeMachine.lostTimes.at(-1);
    return last !== undefined && Date.now() < (last.recoveredAtMs ?? Infinity) + CATCH_UP_MS;
  };

  const compareEndings = async (): Promise<void> => {
    const begunAtMs = Date.now();
    for (const [deliveryid, state] of await ledger.ended()) {
      const before = endings.get(deliveryid);
      if (before !== undefined && before !== state)
        changedEndings.push(`${deliveryid} (${before} → ${state})`);
      endings.set(deliveryid, state);
    }
    nextEndingsAtMs = Date.now() + Math.max(ENDINGS_MS, (Date.now() - begunAtMs) / SHARE_FOR_ENDINGS);
  };
  const look = async (): Promise<void> => {
    const overdue = await ledger.mostOverdueSeconds();
    if (!isCatchingUp() && overdue.seconds > mostOverdue.seconds) mostOverdue = overdue;
    if (Date.now() >= nextEndingsAtMs) await compareEndings();
  };
  const timer = setInterval(() => {
    looking ??= look()
      .catch(() => undefined)
      .finally(() => (looking = undefined));
  }, LOOK_MS);
  return {
    changedEndings,
    get mostOverdue() {
      return mostOverdue;
    },
    async stop() {
      clearInterval(timer);
      await looking;
      await compareEndings();
    },
  };
}
