import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';
import type { KeyRing } from '../config/secrets.js';
import { formatAddress } from './addresses.js';
import type { Email } from './email.js';

/** Which attempt an email belongs to. */
export interface EmailKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly attempt: number;
}

/** Maximum size of an email as JSON. */
const MAX_KEPT_EMAIL_BYTES = 1_048_576;
/** Maximum size after compression, since many emails are recorded in one statement. */
const MAX_PACKED_BYTES = 262_144;
/** Up to this size, compressing takes less time than a thread switch. */
const MAX_SYNC_BYTES = 65_536;
const FAST = { level: 1 };

const deflate = promisify(deflateRaw) as (bytes: Buffer, options: { level: number }) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (
  bytes: Buffer,
  options: { maxOutputLength: number },
) => Promise<Buffer>;

/** The email as it is handed to a carrier; what the carrier adds is unknown. */
export function toSentEmail(email: Email, messageId: string): ShownEmail {
  const shown = toShownEmail(email);
  return { ...shown, headers: { ...shown.headers, 'Message-ID': messageId } };
}

/** An email as people read it, under its names in GraphQL; attachments without their bytes. */
export type ShownEmail = ReturnType<typeof toShownEmail>;

export function toShownEmail(email: Email) {
  return {
    subject: email.subject,
    html: email.html,
    /** Null if the email is HTML only. */
    text: email.text ?? null,
    sender: formatAddress(email.sender),
    recipients: email.recipients.map(formatAddress),
    cc: email.cc.map(formatAddress),
    bcc: email.bcc.map(formatAddress),
    reply_to: (email.replyTo ?? []).map(formatAddress),
    headers: email.headers ?? {},
    categories: email.categories ?? [],
    attachments: (email.attachments ?? []).map(({ filename, mimetype, size, contentId }) => ({
      filename,
      mimetype,
      size,
      inline: contentId !== undefined,
    })),
  };
}

/** Compresses and encrypts an email. @returns undefined if it is too large to be kept */
export async function packEmail(
  keyRing: KeyRing,
  key: EmailKey,
  email: ShownEmail,
): Promise<Buffer | undefined> {
  const json = Buffer.from(JSON.stringify(email));
  if (json.length > MAX_KEPT_EMAIL_BYTES) return undefined;
  const packed = json.length > MAX_SYNC_BYTES ? await deflate(json, FAST) : deflateRawSync(json, FAST);
  return packed.length > MAX_PACKED_BYTES ? undefined : keyRing.encryptBytes(packed, contextOf(key));
}

/** The inverse of `packEmail`. Throws if no key decrypts it. */
export async function unpackEmail(keyRing: KeyRing, key: EmailKey, packed: Buffer): Promise<ShownEmail> {
  const bytes = keyRing.decryptBytes(packed, contextOf(key));
  const json = await inflate(bytes, { maxOutputLength: MAX_KEPT_EMAIL_BYTES });
  return JSON.parse(json.toString('utf8')) as ShownEmail;
}

function contextOf({ tenantid, deliveryid, attempt }: EmailKey): string {
  return `sent_mail:${tenantid}:${deliveryid}:${attempt}`;
}
