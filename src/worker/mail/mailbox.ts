import type { Ledger } from '../../db/delivery/ledger.js';
import { keepMail } from '../../db/delivery/mailbox.js';
import { formatAddress, type MailTransport } from './transport.js';

/** Keeps mail in the database, for installations that send nothing: trying out, development. Shown at /mailbox. */
export function createMailboxTransport(ledger: Ledger): MailTransport {
  return {
    needsApiKey: false,
    async send(message, { mayStart }) {
      if (!mayStart()) return { kind: 'fenced' };
      const mailid = await keepMail(ledger, {
        tenantid: message.tenantid,
        deliveryid: message.deliveryid,
        sender: formatAddress(message.sender),
        recipients: message.recipients.map(formatAddress),
        cc: message.cc.map(formatAddress),
        bcc: message.bcc.map(formatAddress),
        subject: message.subject,
        html: message.html,
      });
      return { kind: 'sent', httpStatus: null, providerMessageId: `mailbox-${mailid}` };
    },
    close: () => Promise.resolve(),
  };
}
