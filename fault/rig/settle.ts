import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from './rig.js';

const ASK_MS = 250;

/**
 * Waits until every committed order is in the ledger and has ended there. A run that does not settle is not an error
 * here: the invariants then name what is open.
 */
export async function settle(rig: Rig, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs;
  let quietLooks = 0;
  while (Date.now() < until && quietLooks < 3) {
    const [open, missing] = await Promise.all([rig.ledger.countOpen(), countMissing(rig)]);
    quietLooks = open === 0 && missing === 0 ? quietLooks + 1 : 0;
    await delay(ASK_MS);
  }
}

/** Committed orders without a confirmation in the ledger. */
async function countMissing({ ledger, shops }: Rig): Promise<number> {
  let missing = 0;
  for (const shop of shops) {
    const [row] = await ledger.query<{ missing: number }>(
      `select count(*)::int as missing from ${shop.schema}.orders o where not exists (
         select from rowpost.email_delivery d where d.tenantid = $1 and d.key ->> 'order_id' = o.order_id::text)`,
      [shop.tenantid],
    );
    missing += row?.missing ?? 0;
  }
  return missing;
}
