import type { MailEvent } from '../db/email/mailEvents.js';
import { comparable } from '../email/addresses.js';
import type { RefusedRecipient } from '../email/carriers/transport.js';

/** The bounce event of a recipient that the carrier refused immediately. */
export function refusedEvent(
  { address, reason, status, isGone }: RefusedRecipient,
  attempt: { readonly deliveryid: string; readonly attempt: number; readonly time: string },
): MailEvent {
  return {
    deliveryid: attempt.deliveryid,
    providerEventId: `refused.${attempt.attempt}.${comparable(address)}`,
    event: 'bounce',
    time: attempt.time,
    recipient: address,
    reason,
    status,
    type: isGone ? 'bounce' : 'blocked',
    url: null,
    suppress: isGone ? { address: comparable(address), source: 'bounce' } : null,
  };
}
