import type { Concerned } from '../markers.js';
import type { Accounts } from './accounts.js';

/** The deliveries affected by a strike, whether named by id, batch or order. */
export function struckDeliveries(strike: Concerned, { batches, ofOrder }: Accounts): readonly string[] {
  const marks = [
    ...(strike.marks ?? []),
    ...(strike.batchids ?? []).flatMap((batchid) => batches.get(batchid) ?? []),
  ];
  return [...new Set([...(strike.deliveryids ?? []), ...marks.flatMap((mark) => ofOrder.get(mark) ?? [])])];
}
