import { routed } from '../files/fileLinks.js';
import type { KeyRing } from '../secrets.js';

export const UNSUBSCRIBE_PATH = '/unsubscribe/';
/** In place of a sealed subscription: the page of a mail that is a preview or a test. */
export const PREVIEW = 'preview';

const PURPOSE = 'unsubscribe links';

/** What a link to unsubscribe is about. */
export interface UnsubscribeLink {
  readonly tenantid: number;
  /** Of the recipient, in lower case. */
  readonly address: string;
  readonly emailType: string;
  /** What one click unsubscribes from. */
  readonly from: 'type' | 'all';
}

interface UnsubscribeTerms {
  readonly baseUrl: string;
  readonly keyRing: KeyRing;
  /** One of several: URLs tell the front their tenant. */
  readonly isCell?: boolean;
}

/**
 * The address of a recipient's page. It is sealed, so that it can't be forged and nobody's log has the recipient's address.
 * It does not expire: it works for as long as SECRET_KEYS has the key.
 */
export function unsubscribeUrl(
  { baseUrl, keyRing, isCell }: UnsubscribeTerms,
  { tenantid, address, emailType, from }: UnsubscribeLink,
): string {
  const sealed = keyRing.seal(JSON.stringify([tenantid, address, emailType, from]), PURPOSE);
  const url = `${baseUrl}${UNSUBSCRIBE_PATH}${sealed}`;
  return isCell === true ? routed(url, tenantid) : url;
}

export function unsubscribePreviewUrl(baseUrl: string): string {
  return `${baseUrl}${UNSUBSCRIBE_PATH}${PREVIEW}`;
}

/** @returns undefined for what was not sealed here */
export function openUnsubscribeLink(keyRing: KeyRing, sealed: string): UnsubscribeLink | undefined {
  const text = keyRing.open(sealed, PURPOSE);
  if (text === undefined) return undefined;
  const [tenantid, address, emailType, from] = JSON.parse(text) as [number, string, string, 'type' | 'all'];
  return { tenantid, address, emailType, from };
}
