import { KeyRing } from './secrets.js';
import type { LogLevel } from './log.js';
import {
  cellName,
  databaseAddress,
  databaseAddresses,
  flag,
  integer,
  list,
  mediaTypes,
  oneOf,
  optional,
  optionalText,
  origins,
  storageAddress,
  text,
  redisAddress,
  url,
} from './settingValues.js';

/** One row per environment variable. docs/configuration.md is generated from this table. */
export interface Setting<T> {
  readonly env: string;
  readonly parse: (text: string) => T;
  /** The value when the variable is unset or empty. */
  readonly fallback: T;
  /** How the docs show the fallback, if not as the value itself. */
  readonly fallbackText?: string;
  readonly doc: string;
}

function setting<T>(
  env: string,
  parse: (text: string) => T,
  fallback: T,
  doc: string,
  fallbackText?: string,
): Setting<T> {
  return { env, parse, fallback, doc, ...(fallbackText === undefined ? {} : { fallbackText }) };
}

const DAY_SECONDS = 86_400;

export const SETTINGS = {
  // Where things are
  databaseUrl: setting(
    'DATABASE_URL',
    optional(databaseAddress),
    undefined,
    'PostgreSQL for the control and tenant schemas. The role needs CREATEROLE and CREATE on the database. Several hosts, `host1:port,host2:port`, are a primary and its standbys: the one that accepts writes is used.',
    'embedded PostgreSQL under `.rowpost/`',
  ),
  databaseDirectUrl: setting(
    'DATABASE_DIRECT_URL',
    optional(databaseAddress),
    undefined,
    'PostgreSQL itself, where `DATABASE_URL` leads to a connection pooler such as PgBouncer: for LISTEN, migrations, the ledger of relay and worker, and the queue.',
    '`DATABASE_URL`',
  ),
  databaseReplicaUrls: setting(
    'DATABASE_REPLICA_URLS',
    databaseAddresses,
    [],
    'Standbys for reads, separated by commas: the queries of emails, and requests with `X-Read: replica`. Each URL has one host, and leads to PostgreSQL itself.',
    'none',
  ),
  maxReplicaLagSeconds: setting(
    'MAX_REPLICA_LAG_SECONDS',
    integer(2),
    10,
    'A replica that is further behind serves no reads. At least 2.',
  ),
  databasePasswordCommand: setting(
    'DATABASE_PASSWORD_COMMAND',
    optionalText,
    undefined,
    "A shell command that prints the password of `DATABASE_URL`'s role, for passwords that are made anew, such as IAM tokens. New connections ask for it, at most twice a minute.",
    "the URL's password",
  ),
  preparedStatements: setting(
    'PREPARED_STATEMENTS',
    flag,
    true,
    '`off` for a connection pooler that shares sessions between transactions and does not know prepared statements, such as PgBouncer before 1.21.',
  ),
  redisUrl: setting(
    'REDIS_URL',
    optional(redisAddress),
    undefined,
    'The queue. Set it to scale workers out; `maxmemory-policy` must be `noeviction`. `redis://` or `rediss://` for one server, `redis+sentinel://host,host/name` for the primary that Sentinels watch, `redis+cluster://host,host` for a cluster.',
    'BullMQ on the same PostgreSQL',
  ),
  port: setting('PORT', integer(0, 65_535), 8080, 'Port of the web process.'),
  directoryUrl: setting(
    'DIRECTORY_URL',
    optional(databaseAddress),
    undefined,
    'PostgreSQL of the directory, where this installation is one of several cells. Its processes only read it.',
    'none',
  ),
  cell: setting(
    'CELL',
    optional(cellName),
    undefined,
    "This cell's name in the directory: letters, digits, `-` and `_`.",
    'none',
  ),
  cellUrl: setting(
    'CELL_URL',
    optional(url('http', 'https')),
    undefined,
    'The address of this cell alone, which other cells name for its tenants, where `BASE_URL` leads to a front of all cells.',
    '`BASE_URL`',
  ),
  targetDatabaseUrl: setting(
    'TARGET_DATABASE_URL',
    optional(databaseAddress),
    undefined,
    'Only for `rowpost tenant move`: the `DATABASE_URL` of the cell that the tenant moves to.',
    'none',
  ),
  baseUrl: setting(
    'BASE_URL',
    optional(url('http', 'https')),
    undefined,
    'The address users see. Required in production.',
    '`http://localhost:<PORT>`',
  ),
  dataDir: setting(
    'ROWPOST_DATA_DIR',
    text,
    '.rowpost',
    'Folder of the embedded PostgreSQL, generated keys and local files.',
  ),

  // Secrets
  secretKeys: setting(
    'SECRET_KEYS',
    optional((value) => KeyRing.parse(value)),
    undefined,
    '`id:base64-of-32-bytes[,…]`. The first encrypts stored secrets, all decrypt.',
    'generated in embedded mode only',
  ),
  sourceSecretKeys: setting(
    'SOURCE_SECRET_KEYS',
    optional((value) => KeyRing.parse(value)),
    undefined,
    'Only for `rowpost tenant import`: the `SECRET_KEYS` of the installation that the tenant comes from.',
    '`SECRET_KEYS`',
  ),
  pxadminPassword: setting(
    'PXADMIN_PASSWORD',
    optionalText,
    undefined,
    "Password of `pxadmin`, tenant 0's root role, set at the first start. At least 8 characters, and no common password.",
    'generated in embedded mode only',
  ),

  // Tokens
  accessTokenSeconds: setting(
    'ACCESS_TOKEN_SECONDS',
    integer(60),
    DAY_SECONDS,
    'Lifetime of access tokens, in seconds, at least 60.',
  ),
  refreshTokenSeconds: setting(
    'REFRESH_TOKEN_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'Lifetime of refresh tokens, in seconds, at least 60.',
  ),

  // Sign-in limits, counted in PostgreSQL across all web processes
  signInsPerAddress: setting(
    'SIGN_INS_PER_ADDRESS',
    integer(0),
    600,
    'Requests to `/auth`, `/anonauth` and `/oidc` from one address (one /64 for IPv6) in a minute; 0 for no limit.',
  ),
  signInFailuresPerLogin: setting(
    'SIGN_IN_FAILURES_PER_LOGIN',
    integer(0),
    50,
    'Wrong passwords for one login from one address (one /64 for IPv6) in a quarter of an hour; 0 for no limit.',
  ),
  signInFailuresBeforeDelay: setting(
    'SIGN_IN_FAILURES_BEFORE_DELAY',
    integer(0),
    500,
    'Wrong passwords for one login from all addresses in a quarter of an hour before further attempts have to wait, up to 5 s; 0 for no wait.',
  ),

  // Sign-in through identity providers
  oidcAllowPrivateNetwork: setting(
    'OIDC_ALLOW_PRIVATE_NETWORK',
    flag,
    false,
    'Whether identity providers may lie in a private network, and speak plain http, in production as well.',
  ),

  oidcTimeoutMs: setting(
    'OIDC_TIMEOUT_MS',
    integer(100, 60_000),
    5_000,
    'Longest time that a call of an identity provider may take, from name to last byte.',
  ),
  oidcReturnOrigins: setting(
    'OIDC_RETURN_ORIGINS',
    origins,
    [],
    'Origins that `return_to` may lead to besides this service, comma-separated: tokens are handed to them.',
    'none',
  ),

  // HTTP
  corsOrigins: setting(
    'CORS_ORIGINS',
    list,
    [],
    'Origins that browsers may call from, comma-separated; `*` allows all, without credentials.',
    'none',
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    integer(0, 10),
    0,
    'Number of proxies in front whose X-Forwarded-For is believed.',
  ),
  bodyLimitBytes: setting('BODY_LIMIT_BYTES', integer(1024), 1_048_576, 'Largest request body, in bytes.'),
  introspection: setting('GRAPHQL_INTROSPECTION', flag, true, 'Whether signed-in roles may introspect.'),

  // Reads and writes
  listDefaultLimit: setting(
    'LIST_DEFAULT_LIMIT',
    integer(1),
    100,
    'Rows of a list without `limit`, at every level.',
  ),
  listMaxLimit: setting('LIST_MAX_LIMIT', integer(1), 1000, 'Largest `limit`, at every level.'),
  maxAnswerBytes: setting(
    'MAX_ANSWER_BYTES',
    integer(1024, 134_217_728),
    16_777_216,
    'Largest answer of one request, all of its root fields together, in bytes.',
  ),
  maxAnswersInFlightBytes: setting(
    'MAX_ANSWERS_IN_FLIGHT_BYTES',
    integer(1024),
    134_217_728,
    'Bytes of answers that one process holds before it answers 503; a few times as much memory is needed.',
  ),
  answerStallMs: setting(
    'ANSWER_STALL_MS',
    integer(100),
    10_000,
    'A connection whose client reads less than 64 KiB of an answer in this time is ended.',
  ),
  answerTimeoutMs: setting(
    'ANSWER_TIMEOUT_MS',
    integer(100),
    60_000,
    'Longest time that a client may take to read an answer.',
  ),
  tenantConcurrency: setting(
    'TENANT_CONCURRENCY',
    integer(1),
    250,
    'Requests of one tenant that may wait for their turn in one web process; more answer 503.',
  ),
  planningMsPerSecond: setting(
    'PLANNING_MS_PER_SECOND',
    integer(1, 1_000),
    100,
    'CPU time in each second that one web process spends on new documents of one tenant while others use it; more wait, then answer 503.',
  ),

  // Anonymous visitors of one tenant, in each web process
  nobodyPlanningMsPerSecond: setting(
    'NOBODY_PLANNING_MS_PER_SECOND',
    integer(1, 1_000),
    20,
    'The same for documents of anonymous visitors.',
  ),
  nobodyRequestsPerMinute: setting(
    'NOBODY_REQUESTS_PER_MINUTE',
    integer(0),
    6_000,
    'GraphQL requests of anonymous visitors; more answer 429. 0 for no limit.',
  ),
  nobodyRequestsPerAddress: setting(
    'NOBODY_REQUESTS_PER_ADDRESS',
    integer(0),
    1_200,
    'GraphQL requests of anonymous visitors from one address in a minute; 0 for no limit.',
  ),
  nobodyRowsPerMinute: setting(
    'NOBODY_ROWS_PER_MINUTE',
    integer(0),
    1_200,
    'Rows that anonymous visitors may create, update and delete; 0 for no limit.',
  ),
  nobodyRolesPerMinute: setting(
    'NOBODY_ROLES_PER_MINUTE',
    integer(0),
    60,
    'Roles that anonymous visitors may try to make; 0 for no limit.',
  ),
  nobodyRolesPerAddress: setting(
    'NOBODY_ROLES_PER_ADDRESS',
    integer(0),
    10,
    'Roles that anonymous visitors may try to make from one address in a minute, refused ones included; 0 for no limit.',
  ),

  // PostgreSQL
  pgPool: setting(
    'PG_POOL',
    integer(4, 500),
    24,
    'Connections of one process to PostgreSQL, all of its parts together: tenants, the service itself, the ledger, and the queue where it is in PostgreSQL.',
  ),
  statementTimeoutMs: setting(
    'STATEMENT_TIMEOUT_MS',
    integer(100),
    15_000,
    'Longest statement of a request or an email query.',
  ),
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS',
    integer(100),
    30_000,
    'Longest transaction of a request, all of its statements together.',
  ),
  lockTimeoutMs: setting('LOCK_TIMEOUT_MS', integer(100), 5_000, 'Longest wait for a row lock.'),
  connectTimeoutMs: setting(
    'PG_CONNECT_TIMEOUT_MS',
    integer(100),
    5_000,
    'Longest wait for a free connection.',
  ),
  schemaCheckMs: setting(
    'SCHEMA_CHECK_MS',
    integer(100),
    1_500,
    "How often a tenant's tables are checked for changes made by other means.",
  ),

  // Mail
  mailTransport: setting(
    'MAIL_TRANSPORT',
    optional(oneOf('sendgrid', 'mailbox')),
    undefined,
    '`mailbox` keeps mail locally, shown at `/mailbox`.',
    '`mailbox` in embedded mode, else `sendgrid`',
  ),
  sendgridBaseUrl: setting(
    'SENDGRID_BASE_URL',
    url('http', 'https'),
    'https://api.sendgrid.com/',
    'Another region of the provider, or a test server.',
  ),
  sesBaseUrl: setting(
    'SES_BASE_URL',
    optional(url('http', 'https')),
    undefined,
    'A test server instead of Amazon SES in the region of an account.',
    "the region's",
  ),
  resendBaseUrl: setting(
    'RESEND_BASE_URL',
    url('http', 'https'),
    'https://api.resend.com/',
    'A test server.',
  ),
  postmarkBaseUrl: setting(
    'POSTMARK_BASE_URL',
    url('http', 'https'),
    'https://api.postmarkapp.com/',
    'A test server.',
  ),
  mailgunBaseUrl: setting(
    'MAILGUN_BASE_URL',
    url('http', 'https'),
    'https://api.mailgun.net/',
    'A test server.',
  ),
  mailgunEuBaseUrl: setting(
    'MAILGUN_EU_BASE_URL',
    url('http', 'https'),
    'https://api.eu.mailgun.net/',
    'For accounts in the EU; a test server.',
  ),
  smtpAllowPrivateNetwork: setting(
    'SMTP_ALLOW_PRIVATE_NETWORK',
    flag,
    false,
    "Whether tenants' SMTP servers may lie in a private network, on any port and without encryption, in production as well.",
  ),
  sendDeadlineMs: setting(
    'SEND_DEADLINE_MS',
    integer(100),
    15_000,
    'Longest provider call, from connect to the last byte of the answer.',
  ),
  maxAttempts: setting('MAX_ATTEMPTS', integer(1, 1000), 12, 'Attempts of a delivery before it is `failed`.'),
  backoffBaseMs: setting(
    'BACKOFF_BASE_MS',
    integer(10),
    2_000,
    'First retry delay; doubles with every attempt, with full jitter.',
  ),
  backoffCapMs: setting('BACKOFF_CAP_MS', integer(100), 3_600_000, 'Longest retry delay.'),

  // Files
  storageUrl: setting(
    'STORAGE_URL',
    optional(storageAddress),
    undefined,
    'Where the bytes of files are: `file:<folder>` or `s3://<bucket>[/<prefix>]?region=…&endpoint=…`. Required in production.',
    '`file:<ROWPOST_DATA_DIR>/files`',
  ),
  fileMaxBytes: setting(
    'FILE_MAX_BYTES',
    integer(1, 5_368_709_120),
    5_368_709_120,
    'Largest file, in bytes.',
  ),
  fileTypes: setting(
    'FILE_TYPES',
    mediaTypes,
    ['*/*'],
    'Types of content that files may have, comma-separated, such as `image/*,application/pdf`.',
    '`*/*`',
  ),
  fileUrlSeconds: setting(
    'FILE_URL_SECONDS',
    integer(10, 604_800),
    3_600,
    'How long addresses for uploads, and the `url` of files in answers, are valid, in seconds.',
  ),
  fileLinkSeconds: setting(
    'FILE_LINK_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'How long links to files in emails are valid, in seconds.',
  ),
  fileStallMs: setting(
    'FILE_STALL_MS',
    integer(100),
    30_000,
    'An upload or download that moves less than 64 KiB in this time is ended.',
  ),
  fileSweepMs: setting(
    'FILE_SWEEP_MS',
    integer(100),
    30_000,
    'How often what interrupted uploads and deleted rows left behind is removed.',
  ),
  fileOrphanSeconds: setting(
    'FILE_ORPHAN_SECONDS',
    integer(0),
    3_600,
    'How long the files of a row are kept that was deleted with SQL, in seconds. Deleted through the API, they go at once.',
  ),

  // Relay and worker
  workerConcurrency: setting(
    'WORKER_CONCURRENCY',
    integer(1, 1000),
    64,
    'Deliveries in hand in one worker process.',
  ),
  renderThreads: setting(
    'RENDER_THREADS',
    integer(1, 64),
    2,
    'Threads that render templates in one process.',
  ),
  relayBatch: setting('RELAY_BATCH', integer(1, 5_000), 100, 'Most events in one batch handed to a worker.'),
  relayPollMs: setting(
    'RELAY_POLL_MS',
    integer(5),
    100,
    'How often the relay looks for events when nothing wakes it.',
  ),
  reconcileMs: setting(
    'RECONCILE_MS',
    integer(100),
    5_000,
    'How often open work is compared with the queue.',
  ),
  leaseMs: setting(
    'LEASE_MS',
    integer(500),
    6_000,
    'How long a worker may hold a delivery without a sign of life; it renews what takes longer.',
  ),
  tenantEmailsPerSecond: setting(
    'TENANT_EMAILS_PER_SECOND',
    integer(0, 100_000),
    0,
    'Most emails of one tenant in a second; later ones wait for their turn, and other tenants do not. 0 for no limit.',
  ),
  ruleFiresPerMinute: setting(
    'RULE_FIRES_PER_MINUTE',
    integer(0, 1_000_000),
    60,
    'Times that a rule fires for one record within a minute before it counts as a loop: the deliveries beyond are skipped. 0 for no limit.',
  ),
  queuePrefix: setting('QUEUE_PREFIX', text, 'rowpost', "Prefix of the queue's keys in Redis."),
  graceMs: setting('SHUTDOWN_GRACE_MS', integer(100), 25_000, 'Time to finish work in hand after SIGTERM.'),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    integer(0),
    0,
    'Time after SIGTERM in which a web process still takes requests while `/readyz` answers 503, so that a load balancer stops sending them first. Part of `SHUTDOWN_GRACE_MS`.',
  ),
  retentionDays: setting(
    'RETENTION_DAYS',
    integer(1),
    30,
    'Days that events, deliveries and attempts are kept.',
  ),
  keepMailDays: setting(
    'KEEP_MAIL_DAYS',
    integer(0),
    0,
    'Days that mails are kept as they were sent, encrypted, for the console: at most `RETENTION_DAYS`. 0 keeps none; `rowpost demo` keeps them for 7.',
  ),

  // Operation
  healthPort: setting(
    'HEALTH_PORT',
    optional(integer(0, 65_535)),
    undefined,
    'Port on which a relay or worker serves `/livez` (also as `/healthz`), `/readyz` and `/metrics`, one for each process; without tokens, so not for everybody. `web` and `all` have them on `PORT`.',
    'none',
  ),
  backlogAlarmSeconds: setting(
    'BACKLOG_ALARM_SECONDS',
    integer(0),
    60,
    '`rowpost doctor` and `/readyz` report what has waited longer than this, in seconds, from a committed change to its mail; 0 for no alarm.',
  ),
  logLinesPerSecond: setting(
    'LOG_LINES_PER_SECOND',
    integer(0),
    50,
    'Requests of one process that the log has in a second at `info`, and as many that were refused; likewise for deliveries. The rest are counted. Errors of Rowpost, and deliveries that failed for good, are always logged.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    oneOf<LogLevel>('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'fatal, error, warn, info, debug, trace or silent. `trace` logs every SQL statement, without values, with its time and the name of its plan.',
  ),
} as const;
