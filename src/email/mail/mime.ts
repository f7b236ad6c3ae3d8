import DKIM from 'nodemailer/lib/dkim';
import MailComposer from 'nodemailer/lib/mail-composer';
import type { Address } from '../addresses.js';
import type { DkimKey } from './account.js';
import type { LoadedMail } from './carrier.js';

/** The mail as a message (RFC 5322, MIME), without Bcc. */
export async function toMime(mail: LoadedMail, dkim?: DkimKey): Promise<Buffer> {
  const message = await new MailComposer({
    from: toMimeAddress(mail.sender),
    to: mail.recipients.map(toMimeAddress),
    cc: mail.cc.map(toMimeAddress),
    ...(mail.replyTo ? { replyTo: mail.replyTo.map(toMimeAddress) } : {}),
    subject: mail.subject,
    ...(mail.messageId === undefined ? {} : { messageId: mail.messageId }),
    ...(mail.text === undefined ? {} : { text: mail.text }),
    html: mail.html,
    headers: { ...mail.headers },
    attachments: mail.loaded.map(({ filename, mimetype, base64, contentId }) => ({
      filename,
      contentType: mimetype,
      content: Buffer.from(base64, 'base64'),
      ...(contentId === undefined
        ? { contentDisposition: 'attachment' }
        : { cid: contentId, contentDisposition: 'inline' }),
    })),
    // Contents are given as they are; an attachment's name must lead nowhere.
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: 'win',
  })
    .compile()
    .build();
  return dkim ? signed(message, dkim) : message;
}

async function signed(message: Buffer, { domain, selector, privateKey }: DkimKey): Promise<Buffer> {
  const parts: Buffer[] = [];
  const stream = new DKIM({ domainName: domain, keySelector: selector, privateKey }).sign(message);
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const toMimeAddress = ({ email, name }: Address) => ({ address: email, name });
