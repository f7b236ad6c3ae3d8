/** Why a delivery ended or waits, in Markdown. docs/reference/errors.md shows the table as it is, the console one row of it. */
export interface DeliveryErrorRow {
  readonly codes: string;
  readonly state: string;
  readonly why: string;
  /** For the author of the rule and the email type. */
  readonly whatToDo: string;
}

export const DELIVERY_ERRORS: readonly DeliveryErrorRow[] = [
  {
    codes: '`TEMPLATE_FAILED`',
    state: '`failed`',
    why: 'a template failed, or exceeded its limits on time, steps or memory',
    whatToDo: 'correct the field at the given line and column, check with `preview_email`, redrive',
  },
  {
    codes: '`SUBJECT_EMPTY`',
    state: '`failed`',
    why: 'the subject rendered to nothing',
    whatToDo: 'handle that case in the template',
  },
  {
    codes: '`SUBJECT_TOO_LONG`',
    state: '`failed`',
    why: 'the subject has more than 10,000 characters',
    whatToDo: 'shorten it in the template',
  },
  {
    codes: '`SENDER_INVALID`',
    state: '`failed`',
    why: 'the sender is not one address',
    whatToDo: 'write `a@b.org` or `Name <a@b.org>`',
  },
  {
    codes: '`RECIPIENTS_INVALID`',
    state: '`failed`',
    why: '`recipients`, `cc` or `bcc` is not a JSON list',
    whatToDo: 'quote each value: `["{{ email }}"]`',
  },
  {
    codes: '`REPLY_TO_INVALID`',
    state: '`failed`',
    why: '`reply_to` renders to something that is not an address, or to more than 100',
    whatToDo: 'correct the template or the data',
  },
  {
    codes: '`HEADER_INVALID`',
    state: '`failed`',
    why: 'a value of `headers` contains a line break or another control character, or has more than 998 characters; or an id or URL in it has more than 899',
    whatToDo: 'shorten the value, or remove those characters',
  },
  {
    codes: '`CATEGORY_INVALID`',
    state: '`failed`',
    why: 'a value of `categories` has more than 255 characters',
    whatToDo: 'shorten it',
  },
  {
    codes: '`ADDRESS_NOT_ASCII`',
    state: '`failed`',
    why: 'an address has non-ASCII characters before the `@`, which the carrier does not accept; domains may have them',
    whatToDo: 'use another address',
  },
  {
    codes: '`QUERY_ROLE_MISSING`',
    state: '`failed`',
    why: 'the role of `query_roleid` is deleted',
    whatToDo: 'name another role in the rule',
  },
  {
    codes:
      '`FILTER_SYNTAX`, `FILTER_UNKNOWN_COLUMN`, `FILTER_TYPE`, `FILTER_TOO_COMPLEX`, `ORDERING_INVALID`, `GRAPHQL_VALIDATION`, `PERMISSION_DENIED` and other codes of requests',
    state: '`failed`',
    why: 'a query of the email type was rejected',
    whatToDo: 'correct the named query, or give its role a policy rule',
  },
  {
    codes: '`STATEMENT_TIMEOUT`',
    state: '`retrying`, in the end `failed`',
    why: 'a query took too long',
    whatToDo: 'select less, or have a column indexed',
  },
  {
    codes: '`CONDITION_FAILED`',
    state: '`failed`',
    why: "the rule's condition can't be evaluated for this change, for example because a value is not a number, or the column is gone. Each change is evaluated separately, so the emails of other changes are sent",
    whatToDo: 'correct the condition or the row',
  },
  {
    codes: '`ATTACHMENT_UNKNOWN`',
    state: '`failed`',
    why: '`attachments` names neither a query nor a column',
    whatToDo: 'correct the name',
  },
  {
    codes: '`ATTACHMENT_MISSING`',
    state: '`failed`',
    why: "a file to attach is gone, belongs to a row other than the event's, or `query_roleid` may not download it",
    whatToDo: 'attach an existing file; use a query for files of other rows',
  },
  {
    codes: '`ATTACHMENT_EMPTY`',
    state: '`failed`',
    why: 'a file to attach has no bytes, and the carrier (SendGrid, Postmark, Brevo) takes no such files',
    whatToDo: 'attach it only if it has some, or link to it',
  },
  {
    codes: '`EMAIL_NOT_SUPPORTED`',
    state: '`failed`',
    why: 'the carrier (Brevo) takes one reply-to address, and no files that are shown within the email',
    whatToDo: 'change the email type, or use another carrier',
  },
  {
    codes: '`TOO_MANY_ATTACHMENTS`',
    state: '`failed`',
    why: 'more than 100 files to attach',
    whatToDo: 'narrow the query, or link to the files',
  },
  {
    codes: '`TOO_MANY_RECIPIENTS`',
    state: '`failed`',
    why: 'more than the carrier accepts',
    whatToDo: 'send to fewer recipients',
  },
  {
    codes: '`EMAIL_TOO_LARGE`',
    state: '`failed`',
    why: 'more than the carrier accepts',
    whatToDo: 'send less, or a link',
  },
  {
    codes: '`SENDER_NOT_VERIFIED`',
    state: '`failed`',
    why: 'the carrier does not know the sender',
    whatToDo: 'verify the sender with the carrier',
  },
  {
    codes: '`SENDER_REFUSED`',
    state: '`failed`',
    why: 'the SMTP server does not accept email from the sender',
    whatToDo: 'use a sender that it accepts',
  },
  {
    codes: '`RECIPIENT_REFUSED`',
    state: '`failed`',
    why: 'the carrier accepts none of the recipients; `error` has its message',
    whatToDo: 'correct the data',
  },
  {
    codes: '`SMTP_554` and other `SMTP_5…`',
    state: '`failed`',
    why: 'the SMTP server rejected the email; `error` has its message',
    whatToDo: 'fix what the message says',
  },
  {
    codes: '`CARRIER_400`, `CARRIER_404`, `CARRIER_413` and other 4xx',
    state: '`failed`',
    why: 'the carrier rejected the email; `error` has its message',
    whatToDo: 'fix what the message says',
  },
  {
    codes: '`EMAIL_APIKEY_MISSING`',
    state: '`failed`',
    why: 'the tenant has neither a key nor an account',
    whatToDo: 'set one, then redrive',
  },
  {
    codes: '`NO_VALID_RECIPIENT`',
    state: '`skipped`',
    why: 'no recipient is an address',
    whatToDo: 'check the data, or do nothing',
  },
  {
    codes: '`SUPPRESSED`',
    state: '`skipped`',
    why: 'every recipient is on the suppression list; `error` names them with the reasons',
    whatToDo: 'remove an address from the list if it works again',
  },
  {
    codes: '`UNSUBSCRIBED`',
    state: '`skipped`',
    why: 'every recipient has unsubscribed from email of this type; `error` names them',
    whatToDo: 'nothing: it is what they asked for',
  },
  {
    codes: '`UNSUBSCRIBE_RECIPIENTS`',
    state: '`failed`',
    why: 'the type has `unsubscribe` set, but the email has more than one recipient, and its link is for one',
    whatToDo: 'send one email to each, or set `unsubscribe` to `none`',
  },
  {
    codes: '`LOOP_TRIPPED`',
    state: '`skipped`',
    why: 'the rule fired too often for one record',
    whatToDo: 'find out what keeps changing the record',
  },
  {
    codes: '`RULE_DELETED`, `EMAIL_TYPE_DELETED`',
    state: '`skipped`',
    why: 'it was deleted in the meantime',
    whatToDo: 'nothing',
  },
  {
    codes: '`EVENT_TOO_LARGE`',
    state: '`failed`',
    why: 'the row was larger than 8 MiB, before or after the change',
    whatToDo: 'keep large values in a separate table',
  },
  {
    codes: '`EVENT_EXPIRED`',
    state: '`skipped`',
    why: 'the change is older than `RETENTION_DAYS`',
    whatToDo: 'nothing',
  },
  {
    codes: '`APIKEY_REFUSED`',
    state: '`paused`',
    why: 'the carrier rejects the key',
    whatToDo: 'set a working one',
  },
  {
    codes: '`CREDITS_EXCEEDED`',
    state: '`paused`',
    why: 'the account is out of credit',
    whatToDo: 'resolve that, then set the key again',
  },
  {
    codes: '`ACCOUNT_BLOCKED`',
    state: '`paused`',
    why: 'the carrier has blocked the account',
    whatToDo: 'resolve that, then set the key again',
  },
  {
    codes: '`SMTP_LOGIN_REFUSED`',
    state: '`paused`',
    why: 'the SMTP server rejects the login',
    whatToDo: 'set an account with a working login',
  },
  {
    codes: '`SMTP_CONNECTION_REFUSED`',
    state: '`paused`',
    why: 'the SMTP server accepts no email from here, or has no STARTTLS; `error` has its message',
    whatToDo: 'contact its operator, then set the account again',
  },
  {
    codes: '`SMTP_HOST_REFUSED`',
    state: '`paused`',
    why: 'the name of the SMTP server resolves to a private network',
    whatToDo: 'use another server',
  },
  {
    codes: '`SMTP_TLS_FAILED`',
    state: '`retrying`, in the end `failed`',
    why: 'the certificate of the SMTP server is not valid for its name, or the handshake failed',
    whatToDo: "have the server's operator fix it",
  },
  {
    codes: '`SMTP_451` and other `SMTP_4…`',
    state: '`retrying`, in the end `failed`',
    why: 'the SMTP server asks to retry later; `error` has its message',
    whatToDo: 'nothing',
  },
  {
    codes: '`RATE_LIMITED`',
    state: '`retrying`',
    why: 'the carrier asks the tenant to wait',
    whatToDo: 'nothing',
  },
  {
    codes:
      '`CARRIER_TIMEOUT`, `CARRIER_409` (of Resend: the attempt before is still in progress there), `CARRIER_500`, `CARRIER_503` and other 5xx, `ECONNRESET`, `NETWORK_ERROR` and other names of broken connections',
    state: '`retrying`, in the end `failed`; `unknown` with `at_most_once` when the email may have left',
    why: 'the carrier, or the connection to it, has problems',
    whatToDo: 'nothing; check with the carrier before redriving an `unknown` one',
  },
  {
    codes: '`IDEMPOTENCY_KEY_USED`',
    state: '`retrying`, in the end `failed`; `unknown` with `at_most_once`',
    why: 'Resend had received an attempt with other data, whose response was lost; the next attempt may be a duplicate',
    whatToDo: 'nothing; check with the carrier before redriving an unknown one',
  },
  {
    codes: '`TOO_BUSY`, `DATABASE_UNAVAILABLE`',
    state: '`retrying`, in the end `failed`',
    why: "Rowpost's database or worker is busy or unavailable",
    whatToDo: 'nothing',
  },
  {
    codes: '`STORAGE_UNAVAILABLE`',
    state: '`retrying`',
    why: "Rowpost's file storage is unavailable",
    whatToDo: 'nothing',
  },
  {
    codes: '`WORKER_LOST`',
    state: '`retrying`',
    why: 'the worker died while sending; the email may arrive twice',
    whatToDo: 'nothing',
  },
  {
    codes: '`OUTCOME_UNKNOWN`',
    state: '`unknown`',
    why: 'the worker died while sending, and the rule forbids a second email',
    whatToDo: 'check with the carrier, redrive if it was not sent',
  },
  {
    codes: '`POISON`',
    state: '`failed`',
    why: 'worker after worker died with this delivery, or worker or database session while evaluating its rule',
    whatToDo: 'tell the operator; redrive once the cause is fixed',
  },
  {
    codes: '`INTERNAL_ERROR`',
    state: '`retrying`, in the end `failed`',
    why: 'a bug',
    whatToDo: "tell the operator, who finds the delivery's id in the log",
  },
];
