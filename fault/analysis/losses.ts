import type { Accounts, Expected } from './accounts.js';

/** Why a mail that had to be sent was not, in a few words; undefined when it was, or is visibly unknown. */
export function lossOf({ delivery, order }: Expected, { accepted }: Accounts): string | undefined {
  if (!delivery) return `order ${order.mark} has no delivery`;
  const { deliveryid, state, errorCode, policy } = delivery;
  switch (state) {
    case 'sent':
      return accepted.has(deliveryid) ? undefined : `delivery ${deliveryid} is sent, the provider never had it`;
    case 'unknown':
      return policy === 'at_most_once' ? undefined : `delivery ${deliveryid} is unknown, though it may be sent twice`;
    default:
      return `delivery ${deliveryid} of ${order.mark} is ${state} (${errorCode ?? 'no error'})`;
  }
}
