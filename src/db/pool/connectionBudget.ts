import { UsageError } from '../../foundation/errors.js';

/** What a process runs, which determines what it needs connections for. */
export type ProcessRole = 'web' | 'relay' | 'worker' | 'all' | 'command';

/** How one process's connections are divided. Their sum never exceeds `PG_POOL`. */
export interface ConnectionBudget {
  /** Tenants' statements. */
  readonly tenants: number;
  /** The service's own statements: sign-in, policies, control objects. */
  readonly service: number;
  /** Outbox, batches and deliveries; separate, so that a busy tenant never delays email. */
  readonly ledger: number;
  /** BullMQ's, if the queue is in PostgreSQL. */
  readonly queue: number;
  /** The relay's own: one to LISTEN, one to watch the locks and notifications that sessions hold. */
  readonly listener: number;
}

type Part = Exclude<keyof ConnectionBudget, 'tenants'>;

/** The budget at which each part has its largest share. Smaller budgets scale the shares down; the excess of larger ones goes to tenants. */
const FULL_BUDGET = 24;

/** Minimum and maximum share of each part. The service sometimes holds one connection while it needs another. */
const SHARES: Readonly<Record<ProcessRole, Readonly<Record<Part, readonly [min: number, max: number]>>>> = {
  web: { service: [2, 8], ledger: [1, 2], queue: [0, 0], listener: [0, 0] },
  relay: { service: [2, 3], ledger: [1, 4], queue: [1, 4], listener: [2, 2] },
  // BullMQ uses two to LISTEN, and renewing its locks must not wait behind jobs.
  worker: { service: [2, 4], ledger: [1, 6], queue: [4, 8], listener: [0, 0] },
  all: { service: [2, 6], ledger: [1, 4], queue: [4, 6], listener: [2, 2] },
  command: { service: [2, 4], ledger: [1, 2], queue: [1, 1], listener: [0, 0] },
};

/** @param total `PG_POOL`. Throws UsageError if it is too small for what the process runs. */
export function divideConnections(
  total: number,
  role: ProcessRole,
  queueInPostgres: boolean,
): ConnectionBudget {
  const share = (part: Part): number => {
    const [min, max] = SHARES[role][part];
    if (part === 'queue' && !queueInPostgres) return 0;
    return Math.max(min, Math.min(max, Math.floor((max * total) / FULL_BUDGET)));
  };
  const parts = {
    service: share('service'),
    ledger: share('ledger'),
    queue: share('queue'),
    listener: share('listener'),
  };
  const tenants = total - parts.service - parts.ledger - parts.queue - parts.listener;
  if (tenants < 1) {
    throw new UsageError(
      `PG_POOL=${total} leaves no connection for tenants: "rowpost ${role}" needs at least ${total - tenants + 1}`,
    );
  }
  return { tenants, ...parts };
}
