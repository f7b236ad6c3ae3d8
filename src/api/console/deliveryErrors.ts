/** What to do about each error code of a delivery. Mirrors the table of docs/delivery.md; a test compares the two. */
export interface DeliveryError {
  readonly why: string;
  /** What the author of the rule and the email type should do. */
  readonly whatToDo: string;
}

const TABLE: readonly (readonly [codes: readonly string[], why: string, whatToDo: string])[] = [
  [
    ['TEMPLATE_FAILED'],
    'a template could not be rendered, or took more time, steps or memory than it may',
    'corrects the field at the line and column given, tries preview_email, redrives',
  ],
  [['SUBJECT_EMPTY'], 'the subject rendered to nothing', 'gives the template a text for that case'],
  [['SENDER_INVALID'], 'the sender is not one address', 'writes a@b.org or Name <a@b.org>'],
  [
    ['RECIPIENTS_INVALID'],
    'recipients, cc or bcc is not a JSON list',
    'puts each value into quotes: ["{{ email }}"]',
  ],
  [
    ['REPLY_TO_INVALID'],
    'reply_to renders to something that is no address, or to more than 100',
    'corrects the template, or the data',
  ],
  [
    ['HEADER_INVALID'],
    'a value of headers holds a line break or another control character, or more than 998 characters',
    'takes them out of the value',
  ],
  [['CATEGORY_INVALID'], 'a value of categories has more than 255 characters', 'shortens it'],
  [
    ['ADDRESS_NOT_ASCII'],
    'an address has characters beyond ASCII before the @, which the provider does not take; domains may have them',
    'asks for another address',
  ],
  [['QUERY_ROLE_MISSING'], 'the role of query_roleid is deleted', 'names another role in the rule'],
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
    'a query of the email type was refused',
    'corrects the query named, or gives its role a policy rule',
  ],
  [['STATEMENT_TIMEOUT'], 'a query took too long', 'asks for less, or has a column indexed'],
  [
    ['CONDITION_FAILED'],
    "the rule's condition can't be evaluated for this change: a value does not read as a number, or the column is gone, for instance. Each change is judged by itself: the mails of the others are sent",
    'corrects the condition, or the row',
  ],
  [['ATTACHMENT_UNKNOWN'], 'attachments names neither a query nor a column', 'corrects the name'],
  [
    ['ATTACHMENT_MISSING'],
    "a file to be attached is gone, belongs to another row than the event's, or query_roleid may not download it",
    'attaches what is there; has a query return the files of other rows',
  ],
  [['TOO_MANY_ATTACHMENTS'], 'more than 100 files to attach', 'narrows the query, or links to them'],
  [['TOO_MANY_RECIPIENTS'], 'more than the carrier takes', 'sends to fewer'],
  [['MAIL_TOO_LARGE'], 'more than the carrier takes', 'sends less, or a link'],
  [['SENDER_NOT_VERIFIED'], 'the provider does not know the sender', 'verifies the sender with the provider'],
  [['SENDER_REFUSED'], 'the SMTP server does not take mail from the sender', 'names a sender that it takes'],
  [
    ['RECIPIENT_REFUSED'],
    'the carrier takes none of the recipients; error holds its words',
    'corrects the data',
  ],
  [['SMTP_554'], 'the SMTP server refused the mail; error holds its words', 'fixes what it names'],
  [
    ['PROVIDER_400', 'PROVIDER_404', 'PROVIDER_413'],
    'the provider refused the mail; error holds its words',
    'fixes what it names',
  ],
  [['EMAIL_APIKEY_MISSING'], 'the tenant has neither a key nor a transport', 'sets one, redrives'],
  [['NO_VALID_RECIPIENT'], 'no recipient is an address', 'looks at the data, or leaves it at that'],
  [
    ['SUPPRESSED'],
    'every recipient is on the suppression list; error names them with the reasons',
    'takes an address off the list if it is good again',
  ],
  [
    ['UNSUBSCRIBED'],
    'every recipient has unsubscribed from mail of this type; error names them',
    'nothing: it is what they asked for',
  ],
  [
    ['UNSUBSCRIBE_RECIPIENTS'],
    'the type has unsubscribe set, and the mail more than one recipient: its link is of one',
    'sends one mail to each, or sets unsubscribe to none',
  ],
  [
    ['LOOP_TRIPPED'],
    'the rule fired too often for one record',
    'finds what changes the record again and again',
  ],
  [['RULE_DELETED', 'EMAIL_TYPE_DELETED'], 'it was deleted meanwhile', 'nothing'],
  [
    ['EVENT_TOO_LARGE'],
    'the row was larger than 8 MiB, before or after the change',
    'keeps large values in a table of their own',
  ],
  [['EVENT_EXPIRED'], 'the change is older than RETENTION_DAYS', 'nothing'],
  [['APIKEY_REFUSED'], 'the provider refuses the key', 'sets a working one'],
  [['CREDITS_EXCEEDED'], 'the account is out of credit', 'puts it in order, sets the key again'],
  [['ACCOUNT_BLOCKED'], 'the provider has blocked the account', 'puts it in order, sets the key again'],
  [['SMTP_LOGIN_REFUSED'], 'the SMTP server refuses the login', 'sets a working one'],
  [
    ['SMTP_CONNECTION_REFUSED'],
    'the SMTP server wants no mail from here, or has no STARTTLS; error holds its words',
    'talks to its operator, sets the transport again',
  ],
  [['SMTP_HOST_REFUSED'], 'the name of the SMTP server leads into a private network', 'names another server'],
  [
    ['SMTP_TLS_FAILED'],
    'the certificate of the SMTP server is not valid for its name, or the handshake failed',
    "has the server's operator fix it",
  ],
  [['SMTP_451'], 'the SMTP server takes the mail later; error holds its words', 'nothing'],
  [['RATE_LIMITED'], 'the provider asks the tenant to wait', 'nothing'],
  [
    ['PROVIDER_TIMEOUT', 'PROVIDER_500', 'PROVIDER_503', 'ECONNRESET', 'NETWORK_ERROR'],
    'the provider or the way to it is in trouble',
    'nothing; asks the provider before redriving an unknown one',
  ],
  [
    ['IDEMPOTENCY_KEY_USED'],
    'Resend had an attempt with other data, whose answer was lost; the next attempt may be a duplicate',
    'nothing; asks the provider before redriving an unknown one',
  ],
  [['TOO_BUSY', 'DATABASE_UNAVAILABLE'], 'our own database is busy or away', 'nothing'],
  [['STORAGE_UNAVAILABLE'], 'our own storage of files does not answer', 'nothing'],
  [['WORKER_LOST'], 'the worker ended while sending; the mail may arrive twice', 'nothing'],
  [
    ['OUTCOME_UNKNOWN'],
    'the worker ended while sending, and the rule forbids a second mail',
    'asks the provider, redrives if it did not leave',
  ],
  [
    ['POISON'],
    'worker after worker ended with this delivery, or while evaluating its rule',
    'tells the operator; redrives once the cause is fixed',
  ],
  [['INTERNAL_ERROR'], 'a bug', "tells the operator, who finds the delivery's id in the log"],
];

const BY_CODE: ReadonlyMap<string, DeliveryError> = new Map(
  TABLE.flatMap(([codes, why, whatToDo]) => codes.map((code) => [code, { why, whatToDo }] as const)),
);

/** Every code has an entry: other codes are further errors of queries, of the provider, or of the connection to it. */
export function deliveryError(code: string): DeliveryError {
  const known = BY_CODE.get(code) ?? BY_CODE.get(rowFor(code));
  if (!known) throw new Error('the table lacks a row');
  return known;
}

function rowFor(code: string): string {
  if (/^SMTP_4\d\d$/.test(code)) return 'SMTP_451';
  if (/^SMTP_5\d\d$/.test(code)) return 'SMTP_554';
  if (code === 'PROVIDER_409') return 'NETWORK_ERROR';
  if (/^PROVIDER_4\d\d$/.test(code)) return 'PROVIDER_400';
  if (/^(PROVIDER_5\d\d$|E[A-Z]+$)/.test(code)) return 'NETWORK_ERROR';
  return 'GRAPHQL_VALIDATION';
}
