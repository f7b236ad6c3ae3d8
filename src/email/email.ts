import type { EventKey } from '../db/failover/replica.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { Address } from './addresses.js';
import { toPostgresText } from '../foundation/postgresText.js';

/** A composed email: no header value contains a line break. */
export interface Email {
  readonly sender: Address;
  /** At least one. No address appears twice in the three lists. */
  readonly recipients: readonly Address[];
  readonly cc: readonly Address[];
  readonly bcc: readonly Address[];
  /** What these lists hold besides addresses, so that nothing is sent there. */
  readonly invalid?: readonly InvalidAddress[];
  readonly subject: string;
  readonly html: string;
  /** The plain text part; without it, the email is HTML only. */
  readonly text?: string;
  readonly replyTo?: readonly Address[];
  /** Further headers by name. Values contain no control characters. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the carrier's statistics. */
  readonly categories?: readonly string[];
  readonly attachments?: readonly Attachment[];
  /** Not sent to anyone who has unsubscribed. */
  readonly canUnsubscribe?: true;
}

/** A text that is no address, in a field named as in validation errors. */
export interface InvalidAddress {
  readonly field: string;
  readonly text: string;
}

/** Whom an email is for, copies included, and its subject: for people, also if it can't be sent. */
export interface Intended {
  /** As written, also what is no address. */
  readonly recipients: readonly string[];
  /** Null if it could not be rendered. */
  readonly subject: string | null;
}

/** An attached file. Its bytes are read when the email is sent. */
export interface Attachment {
  readonly filename: string;
  readonly mimetype: string;
  /** In bytes. */
  readonly size: number;
  /** Key in the file storage. */
  readonly objectkey: string;
  /** Referenced by the HTML as `cid:`; without one it is an ordinary attachment. */
  readonly contentId?: string;
}

/** What an email is about: a change to a row, and the role that runs the type's queries. */
export interface EmailTrigger {
  readonly tenantid: number;
  readonly queryRoleid: number;
  readonly operation: string;
  /** The table. Null for a synthetic trigger without one. */
  readonly target: string | null;
  /** The row before and after, as JSON text; null if there is none. */
  readonly old: string | null;
  readonly new: string | null;
  /** The change's event in the outbox. */
  readonly event?: EventKey;
  /** The file of an upload, as JSON text without its URL. */
  readonly file?: string | null;
  /** Further template names of a synthetic trigger, overridden by all others. */
  readonly further?: Readonly<Record<string, unknown>>;
  /** The parent span. */
  readonly span?: Span | undefined;
}

/** Why there is no email, for the author of the email type. */
export interface EmailFailure {
  readonly code: string;
  /** Includes field, line and column. Storable. */
  readonly message: string;
  /** The email type's field, as named in validation errors: `template`, `recipients[0]`, `queries[1].filter`. */
  readonly field?: string;
  /** From 1, in the field's text or, for a filter, in its rendered text. */
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

/** A query's result, as JSON text with the storage keys of its files, or its error. */
export type QueryOutcome =
  | { readonly outvar: string; readonly ok: true; readonly json: string; readonly files: readonly string[] }
  | { readonly outvar: string; readonly ok: false; readonly problem: EmailProblem };

/** Aborts composing an email. Doesn't leave this folder except inside a `QueryOutcome`. */
export class EmailProblem extends Error {
  readonly failure: EmailFailure;

  constructor(
    /** `retry`: may succeed later. `skipped`: the type worked, but there is nobody to send to. */
    readonly kind: 'failed' | 'skipped' | 'retry',
    failure: EmailFailure,
  ) {
    const message = toPostgresText(failure.message);
    super(message);
    this.name = 'EmailProblem';
    this.failure = { ...failure, message };
  }
}

/** A problem with one field, which its message names. */
export function fieldProblem(
  field: string,
  code: string,
  message: string,
  kind: EmailProblem['kind'] = 'failed',
): EmailProblem {
  return new EmailProblem(kind, { code, field, message: `${field}: ${message}` });
}
