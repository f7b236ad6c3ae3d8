import type { Account } from './account.js';
import type { LoadedAttachment } from './attachmentLoader.js';
import type { MailLimits } from './limits.js';
import type { MailMessage, SendContext, SendOutcome, Verification } from './transport.js';

/** A mail with the bytes of its attachments. */
export interface LoadedMail extends MailMessage {
  readonly loaded: readonly LoadedAttachment[];
}

/** One way to send mail. Its outcomes are in docs/carriers.md. */
export interface Carrier<A extends Account = Account> {
  readonly limits: MailLimits;
  /** Never rejects because of the provider or the network. */
  send(mail: LoadedMail, context: SendContext<A>): Promise<SendOutcome>;
  /** Checks that the account can be used, without sending. Never rejects because of the provider or the network. */
  verify(account: A, deadlineMs: number): Promise<Verification>;
  close(): void;
}
