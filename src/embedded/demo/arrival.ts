import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from './client.js';

/** How the email of a change ended. */
export type Arrival =
  | {
      readonly kind: 'sent';
      readonly subject: string;
      readonly recipients: readonly string[];
      readonly afterMs: number;
    }
  | { readonly kind: 'missing'; readonly reason: string };

interface Delivery {
  readonly state: string;
  readonly subject: string | null;
  readonly recipients: readonly string[] | null;
  readonly error: string | null;
}

const POLL_MS = 100;
/** States that are not final. */
const OPEN_STATES = ['pending', 'sending', 'retrying', 'paused'];

/**
 * Makes a change and follows its email in the ledger, as any client could.
 * @param emailType the type sent by the change's rule
 * @param deadlineMs how long to wait for it
 */
export async function followEmail(
  root: Client,
  emailType: string,
  deadlineMs: number,
  change: () => Promise<void>,
): Promise<Arrival> {
  const before = await newestDeliveryid(root, emailType);
  const started = Date.now();
  await change();
  for (;;) {
    const delivery = await findDelivery(root, emailType, before);
    const waitedMs = Date.now() - started;
    if (delivery?.state === 'sent') {
      const { subject, recipients } = delivery;
      return { kind: 'sent', subject: subject ?? '', recipients: recipients ?? [], afterMs: waitedMs };
    }
    const isOpen = !delivery || OPEN_STATES.includes(delivery.state);
    if (!isOpen || waitedMs > deadlineMs) return missing(delivery, waitedMs);
    await delay(POLL_MS);
  }
}

function missing(delivery: Delivery | undefined, waitedMs: number): Arrival {
  const reason = delivery
    ? `its delivery is ${delivery.state}${delivery.error === null ? '' : `: ${delivery.error}`}`
    : `no delivery after ${Math.round(waitedMs / 1000)} s`;
  return { kind: 'missing', reason };
}

async function newestDeliveryid(root: Client, emailType: string): Promise<string> {
  const { email_delivery: deliveries } = await root.rolesPbac<{ email_delivery: { deliveryid: string }[] }>(
    `query ($filter: String) {
      email_delivery(filter: $filter, ordering: ["deliveryid desc"], limit: 1) { deliveryid }
    }`,
    { filter: `email_type = '${emailType}'` },
  );
  return deliveries[0]?.deliveryid ?? '0';
}

async function findDelivery(root: Client, emailType: string, after: string): Promise<Delivery | undefined> {
  const { email_delivery: deliveries } = await root.rolesPbac<{ email_delivery: Delivery[] }>(
    `query ($filter: String) {
      email_delivery(filter: $filter, ordering: ["deliveryid"], limit: 1) { state subject recipients error }
    }`,
    { filter: `email_type = '${emailType}' and deliveryid > ${after}` },
  );
  return deliveries[0];
}
