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
/** Endings are many: they are compared now and then, and at the end. */
const ENDINGS_EVERY = 10;

/** Looks at the ledger all the time. A look that fails, because PostgreSQL is away, is left out. */
export function startWitness({ ledger }: Rig): Witness {
  const endings = new Map<string, string>();
  const changedEndings: string[] = [];
  let mostOverdue: Witness['mostOverdue'] = { seconds: 0, deliveryid: null };
  let looks = 0;
  let looking: Promise<void> | undefined;

  const compareEndings = async (): Promise<void> => {
    for (const [deliveryid, state] of await ledger.ended()) {
      const before = endings.get(deliveryid);
      if (before !== undefined && before !== state) changedEndings.push(`${deliveryid} (${before} → ${state})`);
      endings.set(deliveryid, state);
    }
  };
  const look = async (): Promise<void> => {
    const overdue = await ledger.mostOverdueSeconds();
    if (overdue.seconds > mostOverdue.seconds) mostOverdue = overdue;
    if (looks++ % ENDINGS_EVERY === 0) await compareEndings();
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
