import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import { UNSUBSCRIBED } from '../db/email/suppressions.js';
import { comparable, type Address } from '../email/addresses.js';
import type { Email, Intended } from '../email/email.js';
import { ownValue } from '../foundation/ownValue.js';
import type { DeliveryLedger } from './deliveryLedger.js';
import type { NoEmail } from './retryPolicy.js';

export type PreparedEmail = ({ readonly kind: 'email'; readonly email: Email } | NoEmail) & {
  readonly intended?: Intended | undefined;
};

const MAX_LISTED = 5;

/** An email without its suppressed and unsubscribed addresses, if any recipient is left. */
export async function removeSuppressed(
  ledger: Pick<DeliveryLedger, 'findSuppressed'>,
  delivery: Pick<LoadedDelivery, 'tenantid' | 'hasSuppressions' | 'emailType'>,
  email: Email,
): Promise<PreparedEmail> {
  const { tenantid, hasSuppressions } = delivery;
  const emailType = email.canUnsubscribe === true ? delivery.emailType : null;
  if (!hasSuppressions && emailType === null) return { kind: 'email', email };
  const all = [...email.recipients, ...email.cc, ...email.bcc];
  const addresses = all.map((address) => comparable(address.email));
  const suppressed = await ledger.findSuppressed({ tenantid, addresses, emailType });
  if (suppressed.size === 0) return { kind: 'email', email };
  const allowed = (list: readonly Address[]): readonly Address[] =>
    list.filter((address) => !suppressed.has(comparable(address.email)));
  const recipients = allowed(email.recipients);
  // No copies without a recipient.
  if (recipients.length === 0) return allSuppressed(email.recipients, suppressed);
  return { kind: 'email', email: { ...email, recipients, cc: allowed(email.cc), bcc: allowed(email.bcc) } };
}

const REASONS: Readonly<Record<string, string>> = {
  bounce: 'its email bounced',
  spamreport: 'its owner complained',
  manual: 'put on the list by hand',
  [UNSUBSCRIBED]: 'unsubscribed',
};

function allSuppressed(
  recipients: readonly Address[],
  suppressed: ReadonlyMap<string, string>,
): PreparedEmail {
  const sources = new Set(recipients.map(({ email }) => suppressed.get(comparable(email))));
  const hasUnsubscribed = sources.size === 1 && sources.has(UNSUBSCRIBED);
  const named = recipients.slice(0, MAX_LISTED).map(({ email }) => {
    const source = suppressed.get(comparable(email)) ?? '';
    return source === UNSUBSCRIBED && hasUnsubscribed
      ? email
      : `${email} (${ownValue(REASONS, source) ?? source})`;
  });
  const listed = `${named.join(', ')}${recipients.length > MAX_LISTED ? ` and ${recipients.length - MAX_LISTED} more` : ''}`;
  return hasUnsubscribed
    ? { kind: 'skipped', code: 'UNSUBSCRIBED', message: `every recipient has unsubscribed: ${listed}` }
    : {
        kind: 'skipped',
        code: 'SUPPRESSED',
        message: `every recipient is on the suppression list: ${listed}`,
      };
}
