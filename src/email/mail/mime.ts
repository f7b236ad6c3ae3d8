import DKIM from 'nodemailer/lib/dkim';
import MailComposer from 'nodemailer/lib/mail-composer';
import type { Address } from '../addresses.js';
import type { DkimKey } from './account.js';
import type { LoadedMail } from './carrier.js';
import { breakLongWords } from './encodedWords.js';

/**
 * Types that must not be encoded (RFC 2046, 5.1 and 5.2): nodemailer adds the bytes of such a file to the message as they are, bare
 * CR and NUL included, and takes half a minute for 21 MB of LF.
 */
const COMPOSITE = /^(message|multipart)\//i;

/** The mail as a message (RFC 5322, MIME), without Bcc. */
export async function toMime(mail: LoadedMail, dkim?: DkimKey): Promise<Buffer> {
  const message = await new MailComposer({
    from: toMimeAddress(mail.sender),
    to: mail.recipients.map(toMimeAddress),
    cc: mail.cc.map(toMimeAddress),
    ...(mail.replyTo ? { replyTo: mail.replyTo.map(toMimeAddress) } : {}),
    subject: breakLongWords(mail.subject),
    ...(mail.messageId === undefined ? {} : { messageId: mail.messageId }),
    ...(mail.text === undefined ? {} : { text: withoutBareReturns(mail.text) }),
    html: withoutBareReturns(mail.html),
    headers: { ...mail.headers },
    attachments: mail.loaded.map(({ filename, mimetype, base64, contentId }) => ({
      filename,
      contentType: COMPOSITE.test(mimetype) ? 'application/octet-stream' : mimetype,
      content: Buffer.from(base64, 'base64'),
      ...(contentId === undefined
        ? { contentDisposition: 'attachment' }
        : { cid: contentId, contentDisposition: 'inline' }),
    })),
    // Contents are passed as bytes; an attachment's name must never be opened as a path.
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: 'win',
  })
    .compile()
    .build();
  return dkim ? signed(message, dkim) : message;
}

/**
 * The composer makes CR LF of each LF, but leaves a CR alone, which RFC 5321 forbids: some servers take one for the end of a line,
 * and so what follows a dot on such a line for commands.
 */
function withoutBareReturns(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

/** nodemailer's default, plus the headers that must be signed for one-click unsubscribe (RFC 8058, 4). */
const SIGNED_HEADERS = [
  'From',
  'Sender',
  'Reply-To',
  'Subject',
  'Date',
  'Message-ID',
  'To',
  'Cc',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Id',
  'List-Help',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Subscribe',
  'List-Post',
  'List-Owner',
  'List-Archive',
].join(':');

async function signed(message: Buffer, { domain, selector, privateKey }: DkimKey): Promise<Buffer> {
  const parts: Buffer[] = [];
  const key = { domainName: domain, keySelector: selector, privateKey };
  const stream = new DKIM({ ...key, headerFieldNames: SIGNED_HEADERS }).sign(message);
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const toMimeAddress = ({ email, name }: Address) => ({ address: email, name });
