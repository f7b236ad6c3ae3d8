import type { Email } from '../email.js';

/** The carrier's limit, attachments included. */
export const MAX_EMAIL_BYTES = 30_000_000;

/** Approximate size of an email on the wire, with attachments in base64. */
export function bytesOf({ html, text = '', subject, headers = {}, attachments = [] }: Email): number {
  const attached = attachments.reduce((sum, { size }) => sum + Math.ceil(size / 3) * 4, 0);
  const texts = [html, text, subject, ...Object.entries(headers).flat()];
  return texts.reduce((sum, item) => sum + Buffer.byteLength(item), attached);
}
