import type { Clock } from '../foundation/clock.js';
import type { Ledger } from '../db/pool/ledgerPool.js';
import { dropOldPartitions, makePartitions, type RetentionDays } from '../db/outbox/partitions.js';
import type { Logger } from '../foundation/observability/log.js';

/** How long all relays may be down before events go to the default partition. */
const DAYS_AHEAD = 3;

/** Creates upcoming partitions and drops expired ones. Every relay does this; it is idempotent. */
export async function maintainPartitions(
  deps: { readonly ledger: Ledger; readonly clock: Clock; readonly log: Logger },
  days: RetentionDays,
): Promise<void> {
  const made = await makePartitions(deps.ledger, deps.clock.now(), DAYS_AHEAD);
  if (made.length > 0) deps.log.info({ made: made.length }, 'created partitions for the coming days');
  const dropped = await dropOldPartitions(deps.ledger, deps.clock.now(), days);
  if (dropped.length > 0) deps.log.info({ dropped }, 'dropped partitions past retention');
}
