import type { Clock } from '../clock.js';
import type { Ledger } from '../db/connection/ledger.js';
import { dropOldPartitions, makePartitions, pruneTicks } from '../db/delivery/partitions.js';
import { forgetRemovedSuppressions } from '../db/delivery/suppressions.js';
import type { Logger } from '../log.js';

/** So long may every relay be away before events go to the default partition. */
const DAYS_AHEAD = 3;

/** Makes the coming days' partitions, and drops those of days past. Every relay does it; whoever comes second finds it done. */
export async function keepPartitions(
  deps: { readonly ledger: Ledger; readonly clock: Clock; readonly log: Logger },
  retentionDays: number,
): Promise<void> {
  const made = await makePartitions(deps.ledger, deps.clock.now(), DAYS_AHEAD);
  if (made.length > 0) deps.log.info({ made: made.length }, 'partitions made for the coming days');
  const dropped = await dropOldPartitions(deps.ledger, deps.clock.now(), retentionDays);
  if (dropped.length > 0) deps.log.info({ dropped }, 'partitions past retention dropped');
  await pruneTicks(deps.ledger);
  await forgetRemovedSuppressions(deps.ledger);
}
