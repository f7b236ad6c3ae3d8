import type { Account } from './account.js';
import type { LoadedAttachment } from './attachmentLoader.js';
import type { EmailLimits } from './limits.js';
import type { EmailMessage, SendContext, SendOutcome, Verification } from './sending.js';

/** An email with the bytes of its attachments. */
export interface LoadedEmail extends EmailMessage {
  readonly loaded: readonly LoadedAttachment[];
}

/** One way to send email. Its outcomes are in docs/how-to/carriers.md. */
export interface Carrier<A extends Account = Account> {
  readonly limits: EmailLimits;
  /** Never rejects because of the carrier or the network. */
  send(email: LoadedEmail, context: SendContext<A>): Promise<SendOutcome>;
  /** Checks that the account can be used, without sending. Never rejects because of the carrier or the network. */
  verify(account: A, deadlineMs: number): Promise<Verification>;
  close(): void;
}
