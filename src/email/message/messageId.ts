import { isIP } from 'node:net';

/**
 * The Message-ID of a delivery: the same for every attempt, so that receivers can recognize duplicates. The host of
 * BASE_URL makes it unique among installations.
 */
export function messageIdOf(baseUrl: string, tenantid: number, deliveryid: string): string {
  const { hostname } = new URL(baseUrl);
  const domain = isIP(hostname) === 4 ? `[${hostname}]` : hostname;
  return `<delivery.${tenantid}.${deliveryid}@${domain}>`;
}

/** The same for every attempt at a delivery, until it is redriven or the carrier rejects the key because the data differ. */
export function idempotencyKeyOf(messageId: string, since: number | undefined): string {
  return messageId.slice(1, -1) + (since === undefined ? '' : `.${since}`);
}
