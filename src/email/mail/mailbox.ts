import type { Database } from '../../db/connection/database.js';
import { keepMail } from '../../db/delivery/mailbox.js';
import { formatAddress } from '../addresses.js';
import type { MailTransport } from './transport.js';

/** Stores mail in the database instead of sending it, for evaluation and development. Shown at /mailbox. */
export function createMailboxTransport(database: Database): MailTransport {
  return {
    needsAccount: false,
    async send(message, { mayStart }) {
      if (!mayStart()) return { kind: 'fenced' };
      const mailid = await keepMail(database, {
        tenantid: message.tenantid,
        deliveryid: message.deliveryid,
        sender: formatAddress(message.sender),
        recipients: message.recipients.map(formatAddress),
        cc: message.cc.map(formatAddress),
        bcc: message.bcc.map(formatAddress),
        subject: message.subject,
        html: message.html,
        text: message.text ?? null,
        replyTo: (message.replyTo ?? []).map(formatAddress),
        headers: { ...message.headers, ...(message.messageId ? { 'Message-ID': message.messageId } : {}) },
        categories: message.categories ?? [],
        attachments: (message.attachments ?? []).map(({ filename, mimetype, size }) => ({
          filename,
          mimetype,
          size,
        })),
      });
      return { kind: 'sent', httpStatus: null, providerMessageId: `mailbox-${mailid}` };
    },
    verify: () => Promise.resolve({ ok: true }),
    close: () => Promise.resolve(),
  };
}
