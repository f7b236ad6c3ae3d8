import type { Email } from '../email.js';

/** A mail ready to leave. */
export interface MailMessage extends Email {
  readonly tenantid: number;
  /** Null for a test mail, which the ledger does not know. */
  readonly deliveryid: string | null;
}

export interface SendContext {
  /** Decrypted; empty for a transport that needs none. */
  readonly apiKey: string;
  /** Longest call, from connect to the last byte of the answer, in milliseconds. */
  readonly deadlineMs: number;
  /** Asked just before the request is written: false when the attempt has been given to another worker meanwhile. */
  readonly mayStart: () => boolean;
}

/** What became of a mail. Messages are for the tenant's administrator and hold no secrets. */
export type SendOutcome =
  | { readonly kind: 'sent'; readonly httpStatus: number | null; readonly providerMessageId: string | null }
  /** The provider will never take this mail. */
  | {
      readonly kind: 'rejected';
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** The provider takes no mail with this key. */
  | {
      readonly kind: 'tenant_paused';
      readonly httpStatus: number;
      readonly code: string;
      readonly message: string;
    }
  /** The provider takes no mail with this key for a while. */
  | { readonly kind: 'rate_limited'; readonly httpStatus: number; readonly waitMs: number }
  | {
      readonly kind: 'retry';
      /** Whether the provider may have taken the mail. */
      readonly ambiguous: boolean;
      readonly httpStatus: number | null;
      readonly code: string;
      readonly message: string;
    }
  /** `mayStart` said no: nothing was sent, and another worker has the delivery. */
  | { readonly kind: 'fenced' };

/** A way for mail to leave. */
export interface MailTransport {
  readonly needsApiKey: boolean;
  /** Never rejects for what the provider or the network did. */
  send(message: MailMessage, context: SendContext): Promise<SendOutcome>;
  close(): Promise<void>;
}
