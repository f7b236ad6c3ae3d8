import type { Strike } from '../rig/strikes.js';
import type { Accounts } from './accounts.js';

/** The deliveries that a strike concerned, however it named them. */
export function struckDeliveries(strike: Strike, { batches, ofOrder }: Accounts): readonly string[] {
  const marks = [
    ...(strike.marks ?? []),
    ...(strike.batchids ?? []).flatMap((batchid) => batches.get(batchid) ?? []),
  ];
  return [...new Set([...(strike.deliveryids ?? []), ...marks.flatMap((mark) => ofOrder.get(mark) ?? [])])];
}
