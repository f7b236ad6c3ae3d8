import type { Database } from '../../../db/pool/database.js';
import { keepEmail } from '../../../db/email/mailbox.js';
import { toSentEmail, toShownEmail } from '../../sentEmail.js';
import type { Carriers } from '../sending.js';

/** Stores email in the database instead of sending it, for evaluation and development. Shown at /mailbox. */
export function createMailboxCarrier(database: Database): Carriers {
  return {
    needsAccount: false,
    async send(message, { mayStart }) {
      if (!mayStart()) return { kind: 'fenced' };
      const { tenantid, deliveryid, messageId } = message;
      const email = messageId === undefined ? toShownEmail(message) : toSentEmail(message, messageId);
      const mailid = await keepEmail(database, { tenantid, deliveryid, ...email });
      return { kind: 'sent', httpStatus: null, providerMessageId: `mailbox-${mailid}` };
    },
    verify: () => Promise.resolve({ ok: true }),
    close: () => Promise.resolve(),
  };
}
