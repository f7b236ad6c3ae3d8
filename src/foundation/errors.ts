/**
 * Every error that may leave the process: its HTTP status and the hint that helps most callers. docs/reference/errors.md is
 * generated from this table, and a test compares the two.
 */
const CODES = {
  // Requests
  BAD_REQUEST: [400, 'Send the fields that this endpoint expects, with values of the right types.'],
  BODY_TOO_LARGE: [
    413,
    'Send less in one request. The operator sets the limit of GraphQL requests with BODY_LIMIT_BYTES.',
  ],
  NOT_FOUND: [404, 'The object does not exist, or this role may not see it.'],
  METHOD_NOT_ALLOWED: [405, 'Send queries with GET or POST, mutations with POST.'],
  NOT_ACCEPTABLE: [406, 'Accept application/json or application/graphql-response+json.'],
  UNSUPPORTED_MEDIA_TYPE: [
    415,
    'Send application/json, a urlencoded form or a multipart form, in UTF-8 and without Content-Encoding.',
  ],
  TOO_BUSY: [503, 'Retry after the time given in Retry-After.'],
  RATE_LIMITED: [429, 'Wait for the time given in Retry-After.'],
  STATEMENT_TIMEOUT: [
    503,
    'Ask for less in one request: fewer rows, fewer levels, or a filter on an indexed column.',
  ],
  REQUEST_TIMEOUT: [503, 'Ask for less in one request: fewer root fields, or fewer mutations at once.'],
  DATABASE_UNAVAILABLE: [
    503,
    'PostgreSQL is unavailable; the request had no effect unless the message says otherwise.',
  ],
  OUTCOME_UNKNOWN: [
    503,
    'The connection broke during commit; read the rows before repeating the mutation, or repeat it if it had an Idempotency-Key.',
  ],
  IDEMPOTENCY_IN_FLIGHT: [
    409,
    'Repeat the request a little later: it gets the response of the first one, or runs if that one failed.',
  ],
  IDEMPOTENCY_KEY_REUSED: [
    422,
    'Generate a new key, such as a UUID, for each new request, and send the same key only with the same request.',
  ],
  IDEMPOTENCY_RESPONSE_NOT_KEPT: [
    410,
    'It took effect once: read the rows, and do not send it with another key. Responses of up to 4 KiB are always kept.',
  ],
  INTERNAL_ERROR: [500, 'This is an error in the service. Give the request id to the operator.'],

  // Sign-in and tokens
  TOKEN_MISSING: [401, 'Send "Authorization: Bearer <access token>".'],
  TOKEN_EXPIRED: [401, 'Refresh it with GET /auth and the refresh token, or sign in again.'],
  TOKEN_MALFORMED: [422, 'Send the token exactly as /auth returned it.'],
  TOKEN_INVALID: [
    401,
    'The token was not signed by this installation, or its signing key is gone. Sign in again.',
  ],
  TOKEN_WRONG_TYPE: [401, 'Use access tokens for requests, and refresh tokens for GET /auth.'],
  TOKEN_REVOKED: [
    401,
    "Its session was ended, the role or the API key was deleted, or the role's password, identity or right to sign in changed. Sign in again.",
  ],
  LOGIN_FAILED: [401, 'Unknown login, wrong password, or wrong tenantid.'],
  REAUTHENTICATION_REQUIRED: [
    403,
    "Give the role's current password as current_password, or sign in again and repeat the request within ten minutes.",
  ],
  ANONYMOUS_LOGINS_DISABLED: [403, "A tenant's root role enables them with Utility.anonymous_logins."],

  // GraphQL
  GRAPHQL_SYNTAX: [400, 'The document does not parse.'],
  GRAPHQL_VALIDATION: [
    400,
    'Compare the document with the SDL that /auth returns. Tables are at /query; roles, emails, rules and deliveries at /roles_pbac.',
  ],
  PERSISTED_QUERY_NOT_SUPPORTED: [400, 'Send the query itself, not only its hash.'],
  DOCUMENT_TOO_COMPLEX: [400, 'Split the request: the document is too deep, too wide or too costly.'],
  BAD_USER_INPUT: [400, 'Correct the value that the message names.'],
  PERMISSION_DENIED: [403, 'Ask an administrator of the tenant for a policy rule or a capability.'],

  // Filters, ordering
  FILTER_SYNTAX: [
    400,
    "Write comparisons such as total >= 80 or name like 'A%', joined by and, or, not and parentheses.",
  ],
  FILTER_UNKNOWN_COLUMN: [400, "Use the table's column and relation names."],
  FILTER_TYPE: [400, 'The two sides of the comparison have different types.'],
  FILTER_TOO_COMPLEX: [400, 'Shorten the filter expression.'],
  ORDERING_INVALID: [400, 'Write "column", "column desc" or "relation.column asc nulls last".'],

  // Constraints of the tenant's own tables
  UNIQUE_VIOLATION: [409, 'Another row has this value.'],
  FOREIGN_KEY_VIOLATION: [409, 'The referenced row is missing, or this row is still referenced.'],
  NOT_NULL_VIOLATION: [400, 'Give the column a value.'],
  CHECK_VIOLATION: [400, 'The row violates a check constraint of the table.'],
  TRANSACTION_CONFLICT: [409, 'Nothing was changed. Send the request again.'],
  READ_ONLY_TABLE: [
    400,
    "Views, tables without a primary key, and tables with columns that the tenant's role may not read are read-only.",
  ],

  // Tenants and roles
  TENANT_NOT_FOUND: [
    404,
    'List tenants with { tenant { tenantid name } } on /roles_pbac as pxadmin; operators with "rowpost tenant list".',
  ],
  TENANT_SUSPENDED: [
    403,
    'Contact the operator of the service. Email for changes committed earlier is still sent.',
  ],
  TENANT_MOVED: [
    421,
    'Another cell serves the tenant: its address is in the message, in base_url and in the header X-Rowpost-Cell. The token is valid there too.',
  ],
  TENANT_MOVING: [
    503,
    'The tenant is being moved to another cell; nothing was changed. Retry after the time given in Retry-After.',
  ],
  SCHEMA_TOO_LARGE: [
    400,
    'The tenant has more than 100,000 columns, enum labels, constraint columns and parts of views, or more objects than PostgreSQL can drop at once: drop unused ones, or split the tenant.',
  ],
  TENANT_SQL_FAILED: [
    400,
    'Correct the script at the given position; none of it was applied, except for what the script itself had committed.',
  ],
  TENANT_CODE_FAILED: [
    400,
    "Whoever maintains the tenant's database corrects the trigger, function, view, policy or default that failed.",
  ],
  CAPTURE_DENIED: [403, "The table's owner, or a superuser, has to run the statement that is given."],
  NAME_TAKEN: [409, 'Choose another name.'],
  PASSWORD_TOO_WEAK: [
    400,
    'Choose one of 8 to 1,024 characters that is not among the most common passwords, nor the login or the name of the tenant.',
  ],
  UNKNOWN_CAPABILITY: [400, 'List them with { capability { capability } } on /roles_pbac.'],
  UNKNOWN_TABLE: [400, "The tenant's schema has no such table. Names are case-sensitive."],
  UNKNOWN_ROLE: [400, 'The tenant has no such role.'],
  ROLE_CLASS_IN_USE: [409, 'First delete or change the policy rules that refer to the class.'],

  // Sign-in through identity providers
  OIDC_PROVIDER_NOT_FOUND: [404, 'List the providers with { oidc_providers { providerid name } }.'],
  OIDC_PROVIDER_IN_USE: [409, 'First delete the configurations that use the provider.'],
  OIDC_CONFIG_IN_USE: [
    409,
    'Identities at one provider mean nothing at another: delete the mappings first, or create another configuration.',
  ],
  OIDC_CONFID_NOT_FOUND: [
    404,
    'Use the confid that create_oidc_config returned, not the providerid, and the tenant it was created in.',
  ],
  OIDC_ROLE_NOT_MAPPED: [403, 'Map the role to an identity with create_role_oidc, for this confid.'],
  OIDC_NOT_ADMITTED: [403, 'Ask the administrator of your account to let you in.'],
  OIDC_RETURN_TO_REFUSED: [400, 'The operator allows origins with OIDC_RETURN_ORIGINS.'],
  OIDC_STATE_INVALID: [
    400,
    'The sign-in was already completed, is older than ten minutes, or was started in another browser or at another host name. Sign in again.',
  ],
  OIDC_LOGIN_REFUSED: [403, 'Sign in at the provider, and grant the access it asks for.'],
  OIDC_REDIRECT_URI_MISMATCH: [
    400,
    'The redirect URI registered with the provider must be exactly the redirect_uri of the configuration.',
  ],
  OIDC_CODE_REFUSED: [400, 'The code was already used or is too old. Sign in again.'],
  OIDC_CLIENT_REFUSED: [
    502,
    "Check the configuration's client_id, and its client_secret or key: the provider has to accept client_secret_basic, client_secret_post or, with a key, private_key_jwt.",
  ],
  OIDC_PROVIDER_ERROR: [502, "Check the provider's addresses, and whether it is up; then start again."],
  OIDC_SIGNATURE_INVALID: [401, "The provider's jwks_uri is wrong, or the provider has rotated its keys."],
  OIDC_ID_TOKEN_INVALID: [401, 'The ID token is not for this client or this sign-in, or has expired.'],
  OIDC_LOGOUT_TOKEN_INVALID: [
    400,
    "Logout tokens need the issuer and the client of a configuration, a signature by the provider's keys, a jti that is new, and sid or sub.",
  ],
  OIDC_CLAIM_MISSING: [
    403,
    "Choose a comparison_field that the provider's ID tokens hold as text, or have the provider add the claim.",
  ],
  OIDC_IDENTITY_MISMATCH: [
    403,
    "The mapping's sub_id must equal the claim of the user's ID token that the provider's comparison_field names; an email address has to be verified there.",
  ],

  // Files
  FILE_COLUMN_READ_ONLY: [400, 'Leave the column out: upload_<table> and delete_file_<table> write it.'],
  FILE_URL_INVALID: [403, 'Use the URL exactly as given, with the method it was issued for.'],
  FILE_URL_EXPIRED: [410, 'Request a new URL: upload_<table> for an upload, thefiles for a download.'],
  FILE_UPLOADED_ALREADY: [409, 'The file is stored. An upload URL accepts one file, once.'],
  FILE_UPLOAD_IN_PROGRESS: [
    409,
    'Another request is uploading this file; wait until it ends, or for a minute if it was interrupted.',
  ],
  FILE_TOO_LARGE: [413, 'Send a smaller file. The operator sets the limit with FILE_MAX_BYTES.'],
  FILE_LENGTH_REQUIRED: [411, 'Send Content-Length, or declare the size in upload_<table>.'],
  FILE_LENGTH_MISMATCH: [400, 'The number of bytes must match Content-Length and the declared size.'],
  FILE_TYPE_REFUSED: [415, 'The operator sets the allowed media types with FILE_TYPES.'],
  FILE_UPLOAD_STALLED: [408, 'The bytes arrived too slowly, or not at all. Send the file again.'],
  FILE_RANGE_INVALID: [416, 'Request a range within the file.'],
  STORAGE_UNAVAILABLE: [503, 'The file storage is unavailable. Try again later.'],
  STORAGE_FULL: [507, 'The file storage is full. The operator has to free space.'],

  // Email settings
  EMAIL_APIKEY_MISSING: [
    409,
    'First call set_email_apikey, or set_email_transport for another carrier. Where email is kept in the mailbox, any text is accepted as the key.',
  ],
  EMAIL_TRANSPORT_REFUSED: [
    422,
    'Nothing was changed. Correct the account, here or at the carrier, and set it again.',
  ],
  EMAIL_TYPE_NOT_FOUND: [400, 'Create the email type first.'],
  EMAIL_TYPE_CHANGED: [409, 'Read it again, and apply your change to the current version.'],
  EMAIL_TYPE_IN_USE: [409, 'First delete or change the rules that use the email type.'],
  EMAIL_LAYOUT_IN_USE: [409, 'First change the email types and layouts that use the layout.'],
  EMAIL_OPERATION_UNKNOWN: [400, 'Operations are insert, update, delete and upload.'],
  TEMPLATE_SYNTAX: [400, 'Correct the template at the given line and column.'],
  EMAIL_QUERY_INVALID: [
    400,
    "The query must be valid on the tenant's /query schema, and must not be a mutation.",
  ],
  EVENT_SIGNATURE_MISSING: [401, "Turn on signing for the carrier's event webhook."],
  EVENT_PASSWORD_INVALID: [
    401,
    'Pass the password to set_email_webhook, and give the URL that it returns to the carrier.',
  ],
  EVENT_SIGNATURE_INVALID: [
    403,
    "Pass the carrier's verification key to set_email_webhook_key, or its secret to set_email_webhook, and give the URL that it returns to the carrier.",
  ],
  EVENT_SIGNATURE_EXPIRED: [403, "Correct the clocks of the server and of the report's sender."],
  REDRIVE_NOT_ALLOWED: [
    409,
    'Only a delivery that has ended can be sent again: sent, failed, skipped or unknown.',
  ],
} as const satisfies Record<string, readonly [status: number, hint: string]>;

export type ErrorCode = keyof typeof CODES;

export const ERROR_CODES: Readonly<Record<ErrorCode, readonly [status: number, hint: string]>> =
  Object.freeze(CODES);

/** Details for the caller: names of the caller's own objects, positions, limits. Never SQL, hosts or secrets. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** Conditions that pass within seconds, and had no effect. */
const RETRY_SOON: ReadonlySet<ErrorCode> = new Set(['TOO_BUSY', 'DATABASE_UNAVAILABLE', 'TENANT_MOVING']);

/** Messages repeat what the caller sent, a name of 100,000 characters for instance. */
const MAX_CHARACTERS = 1_000;

export function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
}

/** The only error type that is shown to callers. Everything else becomes INTERNAL_ERROR. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly hint: string;
  readonly details: ErrorDetails;
  /** For the header Retry-After, if retrying helps. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string | undefined; details?: ErrorDetails | undefined; cause?: unknown } = {},
  ) {
    super(shortened(message), { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = ERROR_CODES[code][0];
    this.hint = shortened(options.hint ?? ERROR_CODES[code][1]);
    this.details = options.details ?? {};
    const { retryAfterSeconds } = this.details;
    this.retryAfterSeconds =
      typeof retryAfterSeconds === 'number' ? retryAfterSeconds : RETRY_SOON.has(code) ? 1 : undefined;
  }

  /** The same error with these details in place of its own. */
  withDetails(details: ErrorDetails): AppError {
    return new AppError(this.code, this.message, { hint: this.hint, details, cause: this.cause });
  }
}

/** @param waitMs until a repetition may succeed */
export function rateLimited(message: string, waitMs: number, hint?: string): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new AppError('RATE_LIMITED', message, {
    details: { retryAfterSeconds },
    ...(hint === undefined ? {} : { hint }),
  });
}

/** An invalid command line or an incomplete installation: shown to the operator as one line, without a stack trace. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Lists everything wrong with the environment. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(
      `the configuration has ${problems.length} problem(s):\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}
