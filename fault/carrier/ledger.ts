/** One call as the carrier saw it. Times are milliseconds since the epoch. */
export interface ProviderEntry {
  readonly deliveryid: string;
  readonly tenantid: string;
  readonly apiKey: string;
  readonly carrier: 'sendgrid' | 'resend' | 'smtp';
  readonly recipients: readonly string[];
  readonly subject: string;
  /** The start of the email's HTML. */
  readonly html: string;
  readonly receivedAtMs: number;
  /** Null if the carrier has not responded, or the connection was gone. */
  readonly answeredAtMs: number | null;
  /** Whether the carrier accepted the email, whatever its response. */
  readonly accepted: boolean;
  /** Whether it had accepted the email before, as the idempotency key says, and responded with that. */
  readonly isRepeated: boolean;
  /** How it handled the call. */
  readonly behavior: Behavior['kind'];
  /** Secrets found anywhere but in the Authorization header. */
  readonly secrets: readonly string[];
}

/** How the carrier handles emails with a certain key. */
export type Behavior =
  | { readonly kind: 'accept' }
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Accepts the email and responds with 202 after a while. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Reads the email and never responds. */
  | { readonly kind: 'hang' }
  /** Sends a header every 50 ms forever. */
  | { readonly kind: 'header-drip' }
  /** Accepts the email, responds with 202, and sends the body a byte every 50 ms forever. */
  | { readonly kind: 'body-drip' }
  /** Breaks the connection after the request's head; leaves no entry. */
  | { readonly kind: 'reset-before' }
  /** Accepts the email, and breaks the connection instead of responding. */
  | { readonly kind: 'reset-after' };

export const ACCEPT: Behavior = { kind: 'accept' };

/** Whether the carrier has accepted the email after this behavior. */
export function accepts(behavior: Behavior): boolean {
  switch (behavior.kind) {
    case 'accept':
    case 'slow':
    case 'body-drip':
    case 'reset-after':
      return true;
    case 'reply':
      return behavior.status === 202;
    case 'hang':
    case 'header-drip':
    case 'reset-before':
      return false;
  }
}
