import type { Database } from '../../db/pool/database.js';
import { keepMail } from '../../db/email/mailbox.js';
import { toSentMail, toShownMail } from '../sentMail.js';
import type { MailTransport } from '../carriers/transport.js';

/** Stores mail in the database instead of sending it, for evaluation and development. Shown at /mailbox. */
export function createMailboxTransport(database: Database): MailTransport {
  return {
    needsAccount: false,
    async send(message, { mayStart }) {
      if (!mayStart()) return { kind: 'fenced' };
      const { tenantid, deliveryid, messageId } = message;
      const mail = messageId === undefined ? toShownMail(message) : toSentMail(message, messageId);
      const mailid = await keepMail(database, { tenantid, deliveryid, ...mail });
      return { kind: 'sent', httpStatus: null, providerMessageId: `mailbox-${mailid}` };
    },
    verify: () => Promise.resolve({ ok: true }),
    close: () => Promise.resolve(),
  };
}
