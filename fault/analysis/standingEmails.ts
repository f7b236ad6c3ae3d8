import type { ProviderEntry } from '../carrier/ledger.js';
import { isLost, type LostTime } from '../rig/timeMachine.js';

/**
 * Emails that the carrier accepted, without those from a time that PostgreSQL has lost. An email that was sent in such a time
 * and once more afterwards, and that the carrier recognized by its idempotency key, counts with the second call.
 */
export function standingEmails(
  entries: readonly ProviderEntry[],
  lostTimes: readonly LostTime[],
): readonly ProviderEntry[] {
  const recognized = new Set<string>();
  return entries.filter((entry) => {
    const { deliveryid, subject, accepted, isRepeated, receivedAtMs } = entry;
    if (isLost(lostTimes, receivedAtMs)) return false;
    const email = `${deliveryid} ${subject}`;
    const stands = accepted || (isRepeated && !recognized.has(email));
    recognized.add(email);
    return stands;
  });
}
