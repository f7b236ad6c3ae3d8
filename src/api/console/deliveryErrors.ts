/** What to do about each error code of a delivery. Mirrors the table of docs/explanation/delivery.md; a test compares the two. */
export interface DeliveryError {
  readonly why: string;
  /** For the author of the rule and the email type. */
  readonly whatToDo: string;
}

const TABLE: readonly (readonly [codes: readonly string[], why: string, whatToDo: string])[] = [
  [
    ['TEMPLATE_FAILED'],
    'a template failed, or exceeded its limits on time, steps or memory',
    'correct the field at the given line and column, check with preview_email, redrive',
  ],
  [['SUBJECT_EMPTY'], 'the subject rendered to nothing', 'handle that case in the template'],
  [['SUBJECT_TOO_LONG'], 'the subject has more than 10,000 characters', 'shorten it in the template'],
  [['SENDER_INVALID'], 'the sender is not one address', 'write a@b.org or Name <a@b.org>'],
  [['RECIPIENTS_INVALID'], 'recipients, cc or bcc is not a JSON list', 'quote each value: ["{{ email }}"]'],
  [
    ['REPLY_TO_INVALID'],
    'reply_to renders to something that is not an address, or to more than 100',
    'correct the template or the data',
  ],
  [
    ['HEADER_INVALID'],
    'a value of headers contains a line break or another control character, or has more than 998 characters',
    'shorten the value, or remove those characters',
  ],
  [['CATEGORY_INVALID'], 'a value of categories has more than 255 characters', 'shorten it'],
  [
    ['ADDRESS_NOT_ASCII'],
    'an address has non-ASCII characters before the @, which the carrier does not accept; domains may have them',
    'use another address',
  ],
  [['QUERY_ROLE_MISSING'], 'the role of query_roleid is deleted', 'name another role in the rule'],
  [
    [
      'FILTER_SYNTAX',
      'FILTER_UNKNOWN_COLUMN',
      'FILTER_TYPE',
      'FILTER_TOO_COMPLEX',
      'ORDERING_INVALID',
      'GRAPHQL_VALIDATION',
      'PERMISSION_DENIED',
    ],
    'a query of the email type was rejected',
    'correct the named query, or give its role a policy rule',
  ],
  [['STATEMENT_TIMEOUT'], 'a query took too long', 'select less, or have a column indexed'],
  [
    ['CONDITION_FAILED'],
    "the rule's condition can't be evaluated for this change, for example because a value is not a number, or the column is gone. Each change is evaluated separately, so the emails of other changes are sent",
    'correct the condition or the row',
  ],
  [['ATTACHMENT_UNKNOWN'], 'attachments names neither a query nor a column', 'correct the name'],
  [
    ['ATTACHMENT_MISSING'],
    "a file to attach is gone, belongs to a row other than the event's, or query_roleid may not download it",
    'attach an existing file; use a query for files of other rows',
  ],
  [
    ['ATTACHMENT_EMPTY'],
    'a file to attach has no bytes, and the carrier (SendGrid, Postmark) takes no such files',
    'attach it only if it has some, or link to it',
  ],
  [['TOO_MANY_ATTACHMENTS'], 'more than 100 files to attach', 'narrow the query, or link to the files'],
  [['TOO_MANY_RECIPIENTS'], 'more than the carrier accepts', 'send to fewer recipients'],
  [['EMAIL_TOO_LARGE'], 'more than the carrier accepts', 'send less, or a link'],
  [['SENDER_NOT_VERIFIED'], 'the carrier does not know the sender', 'verify the sender with the carrier'],
  [
    ['SENDER_REFUSED'],
    'the SMTP server does not accept email from the sender',
    'use a sender that it accepts',
  ],
  [
    ['RECIPIENT_REFUSED'],
    'the carrier accepts none of the recipients; error has its message',
    'correct the data',
  ],
  [['SMTP_554'], 'the SMTP server rejected the email; error has its message', 'fix what the message says'],
  [
    ['CARRIER_400', 'CARRIER_404', 'CARRIER_413'],
    'the carrier rejected the email; error has its message',
    'fix what the message says',
  ],
  [['EMAIL_APIKEY_MISSING'], 'the tenant has neither a key nor an account', 'set one, then redrive'],
  [['NO_VALID_RECIPIENT'], 'no recipient is an address', 'check the data, or do nothing'],
  [
    ['SUPPRESSED'],
    'every recipient is on the suppression list; error names them with the reasons',
    'remove an address from the list if it works again',
  ],
  [
    ['UNSUBSCRIBED'],
    'every recipient has unsubscribed from email of this type; error names them',
    'nothing: it is what they asked for',
  ],
  [
    ['UNSUBSCRIBE_RECIPIENTS'],
    'the type has unsubscribe set, but the email has more than one recipient, and its link is for one',
    'send one email to each, or set unsubscribe to none',
  ],
  [['LOOP_TRIPPED'], 'the rule fired too often for one record', 'find out what keeps changing the record'],
  [['RULE_DELETED', 'EMAIL_TYPE_DELETED'], 'it was deleted in the meantime', 'nothing'],
  [
    ['EVENT_TOO_LARGE'],
    'the row was larger than 8 MiB, before or after the change',
    'keep large values in a separate table',
  ],
  [['EVENT_EXPIRED'], 'the change is older than RETENTION_DAYS', 'nothing'],
  [['APIKEY_REFUSED'], 'the carrier rejects the key', 'set a working one'],
  [['CREDITS_EXCEEDED'], 'the account is out of credit', 'resolve that, then set the key again'],
  [['ACCOUNT_BLOCKED'], 'the carrier has blocked the account', 'resolve that, then set the key again'],
  [['SMTP_LOGIN_REFUSED'], 'the SMTP server rejects the login', 'set an account with a working login'],
  [
    ['SMTP_CONNECTION_REFUSED'],
    'the SMTP server accepts no email from here, or has no STARTTLS; error has its message',
    'contact its operator, then set the account again',
  ],
  [['SMTP_HOST_REFUSED'], 'the name of the SMTP server resolves to a private network', 'use another server'],
  [
    ['SMTP_TLS_FAILED'],
    'the certificate of the SMTP server is not valid for its name, or the handshake failed',
    "have the server's operator fix it",
  ],
  [['SMTP_451'], 'the SMTP server asks to retry later; error has its message', 'nothing'],
  [['RATE_LIMITED'], 'the carrier asks the tenant to wait', 'nothing'],
  [
    ['CARRIER_TIMEOUT', 'CARRIER_500', 'CARRIER_503', 'ECONNRESET', 'NETWORK_ERROR'],
    'the carrier, or the connection to it, has problems',
    'nothing; check with the carrier before redriving an unknown one',
  ],
  [
    ['IDEMPOTENCY_KEY_USED'],
    'Resend had received an attempt with other data, whose response was lost; the next attempt may be a duplicate',
    'nothing; check with the carrier before redriving an unknown one',
  ],
  [['TOO_BUSY', 'DATABASE_UNAVAILABLE'], 'our own database or worker is busy or unavailable', 'nothing'],
  [['STORAGE_UNAVAILABLE'], 'our own file storage is unavailable', 'nothing'],
  [['WORKER_LOST'], 'the worker died while sending; the email may arrive twice', 'nothing'],
  [
    ['OUTCOME_UNKNOWN'],
    'the worker died while sending, and the rule forbids a second email',
    'check with the carrier, redrive if it was not sent',
  ],
  [
    ['POISON'],
    'worker after worker died with this delivery, or while evaluating its rule',
    'tell the operator; redrive once the cause is fixed',
  ],
  [['INTERNAL_ERROR'], 'a bug', "tell the operator, who finds the delivery's id in the log"],
];

const BY_CODE: ReadonlyMap<string, DeliveryError> = new Map(
  TABLE.flatMap(([codes, why, whatToDo]) => codes.map((code) => [code, { why, whatToDo }] as const)),
);

/** Every code has an entry: other codes are further errors of queries, of the carrier, or of the connection to it. */
export function deliveryError(code: string): DeliveryError {
  const known = BY_CODE.get(code) ?? BY_CODE.get(rowFor(code));
  if (!known) throw new Error('the table lacks a row');
  return known;
}

function rowFor(code: string): string {
  if (/^SMTP_4\d\d$/.test(code)) return 'SMTP_451';
  if (/^SMTP_5\d\d$/.test(code)) return 'SMTP_554';
  if (code === 'CARRIER_409') return 'NETWORK_ERROR';
  if (/^CARRIER_4\d\d$/.test(code)) return 'CARRIER_400';
  if (/^(CARRIER_5\d\d$|E[A-Z]+$)/.test(code)) return 'NETWORK_ERROR';
  return 'GRAPHQL_VALIDATION';
}
