import type { Address } from './addresses.js';

/** A mail as its type makes it: no header value holds a line break. */
export interface Email {
  readonly sender: Address;
  /** At least one. No address appears twice in the three lists. */
  readonly recipients: readonly Address[];
  readonly cc: readonly Address[];
  readonly bcc: readonly Address[];
  readonly subject: string;
  readonly html: string;
  readonly attachments?: readonly Attachment[];
}

/** A file that goes with a mail. Its bytes are read when the mail is sent. */
export interface Attachment {
  readonly filename: string;
  readonly mimetype: string;
  /** In bytes. */
  readonly size: number;
  /** In the storage of files. */
  readonly objectkey: string;
}

/** What an email is about: a change to a row, and the role whose rights the type's queries have. */
export interface EmailTrigger {
  readonly tenantid: number;
  readonly queryRoleid: number;
  readonly operation: string;
  /** The table. Null when the trigger is made up and names none. */
  readonly target: string | null;
  /** The row before and after, as JSON texts; null where there is none. */
  readonly old: string | null;
  readonly new: string | null;
  /** The file of an upload, as JSON text without its address. */
  readonly file?: string | null;
  /** Further names for the templates of a made-up trigger. They give way to all others. */
  readonly further?: Readonly<Record<string, unknown>>;
}

/** Why there is no mail, in words for the author of the email type. */
export interface EmailFailure {
  readonly code: string;
  /** Says field, line and column as well. Can be stored. */
  readonly message: string;
  /** The email type's field, named as in errors on saving: `template`, `recipients[0]`, `queries[1].filter`. */
  readonly field?: string;
  /** Counted from 1 in the field's text; in a filter in what it rendered to. */
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

/** What a query of the type gave: JSON text with the storage keys of the files in it, or an error. */
export type QueryOutcome =
  | { readonly outvar: string; readonly ok: true; readonly json: string; readonly files: readonly string[] }
  | { readonly outvar: string; readonly ok: false; readonly problem: EmailProblem };

/** Ends the composing of an email. It does not leave this folder except inside a `QueryOutcome`. */
export class EmailProblem extends Error {
  constructor(
    /** `retry`: the same may succeed later. `skipped`: the type worked, and there is nobody to send to. */
    readonly kind: 'failed' | 'skipped' | 'retry',
    readonly failure: EmailFailure,
  ) {
    super(failure.message);
    this.name = 'EmailProblem';
  }
}
