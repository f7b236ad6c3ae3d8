/** One call as the provider saw it. Times are milliseconds since the epoch. */
export interface ProviderEntry {
  readonly deliveryid: string;
  readonly tenantid: string;
  readonly apiKey: string;
  readonly recipients: readonly string[];
  readonly subject: string;
  /** The start of the mail's HTML. */
  readonly html: string;
  readonly receivedAtMs: number;
  /** Null when the provider has not answered, or the connection was gone. */
  readonly answeredAtMs: number | null;
  /** Whether the provider has taken the mail, whatever it then answered. */
  readonly accepted: boolean;
  /** What it did with the call. */
  readonly behaviour: Behaviour['kind'];
  /** Secrets found where none belongs: anywhere but in the Authorization header. */
  readonly secrets: readonly string[];
}

/** What the provider does with the mails that come with a certain key. */
export type Behaviour =
  | { readonly kind: 'accept' }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Takes the mail and answers 202 after a while. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Reads the mail, and says nothing. */
  | { readonly kind: 'hang' }
  /** Sends a header every 50 ms without end. */
  | { readonly kind: 'header-drip' }
  /** Takes the mail, answers 202, and sends the body a byte every 50 ms without end. */
  | { readonly kind: 'body-drip' }
  /** Breaks the connection when the head has come; there is no entry for it. */
  | { readonly kind: 'reset-before' }
  /** Takes the mail, and breaks the connection instead of answering. */
  | { readonly kind: 'reset-after' };

export const ACCEPT: Behaviour = { kind: 'accept' };

/** Whether a call that meets this behaviour leaves the mail with the provider. */
export function accepts(behaviour: Behaviour): boolean {
  switch (behaviour.kind) {
    case 'accept':
    case 'slow':
    case 'body-drip':
    case 'reset-after':
      return true;
    case 'answer':
      return behaviour.status === 202;
    case 'hang':
    case 'header-drip':
    case 'reset-before':
      return false;
  }
}
