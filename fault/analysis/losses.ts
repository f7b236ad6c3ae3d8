import type { Accounts, Expected } from './accounts.js';

/**
 * Why a due email was not sent, in a few words. Undefined if it was sent, is recorded as unknown, or failed in a way
 * its shop expects.
 */
export function lossOf({ delivery, order }: Expected, { accepted }: Accounts): string | undefined {
  if (!delivery) return `order ${order.mark} has no delivery`;
  const { deliveryid, state, errorCode, policy } = delivery;
  if (state === 'sent') {
    return accepted.has(deliveryid) ? undefined : `delivery ${deliveryid} is sent, the carrier never had it`;
  }
  if (state === 'unknown') {
    return policy === 'at_most_once'
      ? undefined
      : `delivery ${deliveryid} is unknown, though it may be sent twice`;
  }
  const { mayFailWith = [] } = order.shop.special;
  if ((state === 'failed' || state === 'skipped') && mayFailWith.includes(errorCode ?? '')) return undefined;
  return `delivery ${deliveryid} of ${order.mark} is ${state} (${errorCode ?? 'no error'})`;
}
