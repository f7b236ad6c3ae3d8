import type { Span } from '../../foundation/observability/tracing/tracing.js';
import type { Email } from '../email.js';
import type { Account } from './account.js';

/** An email ready to send. */
export interface EmailMessage extends Email {
  readonly tenantid: number;
  /** Null for a test email, which is not in the ledger. */
  readonly deliveryid: string | null;
  /** The same for every attempt at a delivery; without one, the carrier generates it. */
  readonly messageId?: string;
  /** For carriers that honor one. The same for every attempt until the delivery is redriven or the carrier rejects the key because the data differ. */
  readonly idempotencyKey?: string;
}

export interface SendContext<A = Account> {
  /** Decrypted. */
  readonly account: A;
  /** Timeout from connecting to the last byte of the response, in milliseconds. */
  readonly deadlineMs: number;
  /** Checked just before the email is sent: false if the lease may have passed to another worker. */
  readonly mayStart: () => boolean;
  /** Whether another attempt follows if nobody has got the email; by default it does. */
  readonly mayRetry?: boolean | undefined;
  /** Whether another attempt may send it again to those who have got it, so that the others get it; by default it may. */
  readonly mayRepeat?: boolean | undefined;
  /** Called if the email waits for a call that it shares with others. */
  readonly onWait?: (() => void) | undefined;
  /** Of the rows that are in memory until the outcome is known. */
  readonly rowCharacters?: number | undefined;
  /** The parent span. */
  readonly span?: Span | undefined;
}

/** A recipient that the carrier rejected although it accepted the email; recorded like an event of the email. */
export interface RefusedRecipient {
  readonly address: string;
  readonly reason: string;
  /** An enhanced status code such as 5.1.1 (RFC 3463). */
  readonly status: string | null;
  /** Whether there is no such mailbox, so that nothing should be sent there again. */
  readonly isGone: boolean;
}

/**
 * The outcome of sending an email. Messages are for the tenant's administrator and contain no secrets. `httpStatus` is the
 * reply code if the carrier uses SMTP.
 */
export type SendOutcome =
  | {
      readonly kind: 'sent';
      readonly httpStatus: number | null;
      readonly providerMessageId: string | null;
      readonly refused?: readonly RefusedRecipient[];
    }
  /** The carrier will never accept this email. */
  | {
      readonly kind: 'rejected';
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
      readonly refused?: readonly RefusedRecipient[];
    }
  /** The carrier rejects this account. */
  | {
      readonly kind: 'tenant_paused';
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** The carrier rate-limits this account. */
  | { readonly kind: 'rate_limited'; readonly httpStatus: number; readonly waitMs: number }
  | {
      readonly kind: 'retry';
      /** Whether the carrier may have accepted the email. */
      readonly ambiguous: boolean;
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** `mayStart` returned false: nothing was sent, and another worker has the delivery. */
  | { readonly kind: 'fenced' };

/** Whether an account can be used, determined without sending. Messages contain no secrets. */
export type Verification = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface Carriers {
  /** False if email is stored here whatever account the tenant has. */
  readonly needsAccount: boolean;
  /** Never rejects because of the carrier or the network. */
  send(message: EmailMessage, context: SendContext<Account | undefined>): Promise<SendOutcome>;
  /** Never rejects because of the carrier or the network. */
  verify(account: Account, deadlineMs: number): Promise<Verification>;
  close(): Promise<void>;
}
