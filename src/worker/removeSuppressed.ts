import type { LoadedDelivery } from '../db/delivery/loadDeliveries.js';
import { comparable, type Address } from '../email/addresses.js';
import type { Email } from '../email/email.js';
import type { DeliveryLedger } from './deliveryLedger.js';

/** An email without its suppressed addresses, if any recipient is left. */
export type AllowedEmail =
  | { readonly kind: 'email'; readonly email: Email }
  | { readonly kind: 'skipped'; readonly code: string; readonly error: string };

const MAX_LISTED = 5;

export async function removeSuppressed(
  ledger: Pick<DeliveryLedger, 'findSuppressed'>,
  delivery: Pick<LoadedDelivery, 'tenantid' | 'hasSuppressions'>,
  email: Email,
): Promise<AllowedEmail> {
  if (!delivery.hasSuppressions) return { kind: 'email', email };
  const all = [...email.recipients, ...email.cc, ...email.bcc];
  const addresses = all.map((address) => comparable(address.email));
  const suppressed = await ledger.findSuppressed({ tenantid: delivery.tenantid, addresses });
  if (suppressed.size === 0) return { kind: 'email', email };
  const allowed = (list: readonly Address[]): readonly Address[] =>
    list.filter((address) => !suppressed.has(comparable(address.email)));
  const recipients = allowed(email.recipients);
  // No copies without a recipient.
  if (recipients.length === 0) return allSuppressed(email.recipients, suppressed);
  return { kind: 'email', email: { ...email, recipients, cc: allowed(email.cc), bcc: allowed(email.bcc) } };
}

const REASONS: Readonly<Record<string, string>> = {
  bounce: 'its mail bounced',
  spamreport: 'its owner complained',
  manual: 'put on the list by hand',
};

function allSuppressed(
  recipients: readonly Address[],
  suppressed: ReadonlyMap<string, string>,
): AllowedEmail {
  const named = recipients.slice(0, MAX_LISTED).map(({ email }) => {
    const source = suppressed.get(comparable(email)) ?? '';
    return `${email} (${REASONS[source] ?? source})`;
  });
  const rest = recipients.length > MAX_LISTED ? ` and ${recipients.length - MAX_LISTED} more` : '';
  return {
    kind: 'skipped',
    code: 'SUPPRESSED',
    error: `every recipient is on the suppression list: ${named.join(', ')}${rest}`,
  };
}
