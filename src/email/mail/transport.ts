import type { Email } from '../email.js';

/** A mail ready to send. */
export interface MailMessage extends Email {
  readonly tenantid: number;
  /** Null for a test mail, which is not in the ledger. */
  readonly deliveryid: string | null;
  /** The same for each attempt at a delivery; without one the carrier makes one up. */
  readonly messageId?: string;
}

export interface SendContext {
  /** Decrypted; empty for a transport that needs no key. */
  readonly apiKey: string;
  /** Timeout from connecting to the last byte of the response, in milliseconds. */
  readonly deadlineMs: number;
  /** Checked just before the request is written: false when the lease may have passed to another worker. */
  readonly mayStart: () => boolean;
}

/** The outcome of sending a mail. Messages are for the tenant's administrator and hold no secrets. */
export type SendOutcome =
  | { readonly kind: 'sent'; readonly httpStatus: number | null; readonly providerMessageId: string | null }
  /** The provider will never accept this mail. */
  | {
      readonly kind: 'rejected';
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** The provider rejects this key. */
  | {
      readonly kind: 'tenant_paused';
      readonly httpStatus: number;
      readonly code: string;
      readonly message: string;
    }
  /** The provider rate-limits this key. */
  | { readonly kind: 'rate_limited'; readonly httpStatus: number; readonly waitMs: number }
  | {
      readonly kind: 'retry';
      /** Whether the provider may have accepted the mail. */
      readonly ambiguous: boolean;
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** `mayStart` returned false: nothing was sent, and another worker has the delivery. */
  | { readonly kind: 'fenced' };

export interface MailTransport {
  readonly needsApiKey: boolean;
  /** Never rejects because of the provider or the network. */
  send(message: MailMessage, context: SendContext): Promise<SendOutcome>;
  close(): Promise<void>;
}
