import { promisify } from 'node:util';
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';
import type { KeyRing } from '../config/secrets.js';
import { formatAddress } from './addresses.js';
import type { Email } from './email.js';

/** Which attempt a mail belongs to. */
export interface MailKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly attempt: number;
}

/** Maximum size of a mail as JSON. */
const MAX_KEPT_MAIL_BYTES = 1_048_576;
/** Maximum size after compression, since many mails are recorded in one statement. */
const MAX_PACKED_BYTES = 262_144;
/** Up to this size, compressing takes less time than a thread switch. */
const MAX_SYNC_BYTES = 65_536;
const FAST = { level: 1 };

const deflate = promisify(deflateRaw) as (bytes: Buffer, options: { level: number }) => Promise<Buffer>;
const inflate = promisify(inflateRaw) as (
  bytes: Buffer,
  options: { maxOutputLength: number },
) => Promise<Buffer>;

/** The mail as it is handed to a carrier; what the carrier adds is unknown. */
export function toSentMail(email: Email, messageId: string): ShownMail {
  const shown = toShownMail(email);
  return { ...shown, headers: { ...shown.headers, 'Message-ID': messageId } };
}

/** A mail as people read it, under its names in GraphQL; attachments without their bytes. */
export type ShownMail = ReturnType<typeof toShownMail>;

export function toShownMail(email: Email) {
  return {
    subject: email.subject,
    html: email.html,
    /** Null if the mail is HTML only. */
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

/** Compresses and encrypts a mail. @returns undefined if it is too large to be kept */
export async function packMail(keyRing: KeyRing, key: MailKey, mail: ShownMail): Promise<Buffer | undefined> {
  const json = Buffer.from(JSON.stringify(mail));
  if (json.length > MAX_KEPT_MAIL_BYTES) return undefined;
  const packed = json.length > MAX_SYNC_BYTES ? await deflate(json, FAST) : deflateRawSync(json, FAST);
  return packed.length > MAX_PACKED_BYTES ? undefined : keyRing.encryptBytes(packed, contextOf(key));
}

/** The inverse of `packMail`. Throws if no key decrypts it. */
export async function unpackMail(keyRing: KeyRing, key: MailKey, packed: Buffer): Promise<ShownMail> {
  const bytes = keyRing.decryptBytes(packed, contextOf(key));
  const json = await inflate(bytes, { maxOutputLength: MAX_KEPT_MAIL_BYTES });
  return JSON.parse(json.toString('utf8')) as ShownMail;
}

function contextOf({ tenantid, deliveryid, attempt }: MailKey): string {
  return `sent_mail:${tenantid}:${deliveryid}:${attempt}`;
}
