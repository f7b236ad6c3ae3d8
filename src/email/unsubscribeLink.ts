import { routed } from '../files/fileLinks.js';
import type { KeyRing } from '../config/secrets.js';

export const UNSUBSCRIBE_PATH = '/unsubscribe/';
/** Takes the place of a sealed link in previews and test emails. */
export const PREVIEW = 'preview';

const PURPOSE = 'unsubscribe links';

/** The content of an unsubscribe link. */
export interface UnsubscribeLink {
  readonly tenantid: number;
  /** The recipient's, in lower case. */
  readonly address: string;
  readonly emailType: string;
  /** What one click unsubscribes from. */
  readonly from: 'type' | 'all';
}

interface UnsubscribeOptions {
  readonly baseUrl: string;
  readonly keyRing: KeyRing;
  /** One of several: URLs tell the front their tenant. */
  readonly isCell?: boolean;
}

/**
 * The URL of a recipient's unsubscribe page. It is sealed, so that it can't be forged and does not put the recipient's
 * address into logs. It does not expire, but needs its key in SECRET_KEYS.
 */
export function unsubscribeUrl(
  { baseUrl, keyRing, isCell }: UnsubscribeOptions,
  { tenantid, address, emailType, from }: UnsubscribeLink,
): string {
  const sealed = keyRing.seal(JSON.stringify([tenantid, address, emailType, from]), PURPOSE);
  const url = `${baseUrl}${UNSUBSCRIBE_PATH}${sealed}`;
  return isCell === true ? routed(url, tenantid) : url;
}

export function unsubscribePreviewUrl(baseUrl: string): string {
  return `${baseUrl}${UNSUBSCRIBE_PATH}${PREVIEW}`;
}

/** @returns undefined unless it was sealed by this installation */
export function openUnsubscribeLink(keyRing: KeyRing, sealed: string): UnsubscribeLink | undefined {
  const text = keyRing.open(sealed, PURPOSE);
  if (text === undefined) return undefined;
  const [tenantid, address, emailType, from] = JSON.parse(text) as [number, string, string, 'type' | 'all'];
  return { tenantid, address, emailType, from };
}
