import type { ProviderEntry } from '../provider/ledger.js';
import { isLost, type LostTime } from '../rig/timeMachine.js';

/**
 * Mails that the provider accepted, without those from a time that PostgreSQL has lost. A mail that was sent in such a time
 * and once more afterwards, and that the provider recognized by its idempotency key, counts with the second call.
 */
export function standingMails(
  entries: readonly ProviderEntry[],
  lostTimes: readonly LostTime[],
): readonly ProviderEntry[] {
  const recognized = new Set<string>();
  return entries.filter((entry) => {
    const { deliveryid, subject, accepted, isRepeated, receivedAtMs } = entry;
    if (isLost(lostTimes, receivedAtMs)) return false;
    const mail = `${deliveryid} ${subject}`;
    const stands = accepted || (isRepeated && !recognized.has(mail));
    recognized.add(mail);
    return stands;
  });
}
