import type { Setting } from '../../config/settings/setting.js';
import type { Account, AccountFields } from './account.js';
import type { LoadedAttachment } from './attachmentLoader.js';
import type { EmailLimits } from './limits.js';
import type { CarrierReports } from './reports/webhook.js';
import type { EmailMessage, SendContext, SendOutcome, Verification } from './sending.js';

/** Everything about a carrier. They are listed in `table.ts`, and described in docs/how-to/carriers.md. */
export interface CarrierDefinition<A extends Account = Account> {
  readonly kind: A['kind'];
  /** As people know it. */
  readonly title: string;
  readonly fields: AccountFields;
  readonly limits: EmailLimits;
  /** Whether it honors the delivery's idempotency key, so that sending again is no duplicate. */
  readonly isIdempotent?: true;
  /** Headers with which an email would instruct it: those that begin with `x-<prefix>`, by default with its kind. */
  readonly headerPrefixes?: readonly string[];
  readonly baseUrls: readonly Setting<string | undefined>[];
  /** What it reports after it has accepted an email. */
  readonly reports?: CarrierReports;
  open(options: CarrierOptions): Carrier<A>;
}

export interface CarrierOptions {
  /** By their setting. */
  readonly carrierUrls: Readonly<Record<string, string | undefined>>;
  /** Allows SMTP servers in private networks, on any port. */
  readonly smtpAllowPrivateNetwork: boolean;
  /** How this installation introduces itself to SMTP servers. */
  readonly hostname: string;
  /** Reserves a tenant's next call of a carrier that limits them. @returns milliseconds until then */
  readonly reserveCall: (tenantid: number, intervalMs: number) => Promise<number>;
}

/** An email with the bytes of its attachments. */
export interface LoadedEmail extends EmailMessage {
  readonly loaded: readonly LoadedAttachment[];
}

/** An open carrier. */
export interface Carrier<A extends Account = Account> {
  /** Never rejects because of the carrier or the network. */
  send(email: LoadedEmail, context: SendContext<A>): Promise<SendOutcome>;
  /** Checks that the account can be used, without sending. Never rejects because of the carrier or the network. */
  verify(account: A, deadlineMs: number): Promise<Verification>;
  close(): void;
}
