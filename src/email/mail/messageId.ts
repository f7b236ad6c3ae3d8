import { isIP } from 'node:net';

/**
 * The Message-ID of a delivery: the same for every attempt, so that whoever receives a mail twice can tell. Unique among
 * installations by the host of BASE_URL.
 */
export function messageIdOf(baseUrl: string, tenantid: number, deliveryid: string): string {
  const { hostname } = new URL(baseUrl);
  const domain = isIP(hostname) === 4 ? `[${hostname}]` : hostname;
  return `<delivery.${tenantid}.${deliveryid}@${domain}>`;
}

/** The same for each attempt at a delivery, until it is redriven or the carrier refuses the key for other data. */
export function idempotencyKeyOf(messageId: string, since: number | undefined): string {
  return messageId.slice(1, -1) + (since === undefined ? '' : `.${since}`);
}
