import { KeyRing } from './secrets.js';
import type { LogLevel } from '../foundation/observability/log.js';
import { NO_PROXIES, parseTrustedProxies } from '../foundation/net/trustedProxies.js';
import {
  cellName,
  databaseAddress,
  databaseAddresses,
  flag,
  integer,
  listeningAddress,
  mediaTypes,
  oneOf,
  optional,
  optionalText,
  origins,
  originsOrAll,
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
    'A direct connection to PostgreSQL, if `DATABASE_URL` points to a connection pooler such as PgBouncer. Used for LISTEN, migrations, the ledger of relay and worker, and the queue.',
    '`DATABASE_URL`',
  ),
  databaseReplicaUrls: setting(
    'DATABASE_REPLICA_URLS',
    databaseAddresses,
    [],
    'Standbys for reads, comma-separated: they serve the queries of emails, and requests with `X-Read: replica`. Each URL has one host and connects to PostgreSQL directly.',
    'none',
  ),
  maxReplicaLagSeconds: setting(
    'MAX_REPLICA_LAG_SECONDS',
    integer(2),
    10,
    'Maximum lag of a replica that serves reads, in seconds. At least 2.',
  ),
  databasePasswordCommand: setting(
    'DATABASE_PASSWORD_COMMAND',
    optionalText,
    undefined,
    "A shell command that prints the password of `DATABASE_URL`'s role, for short-lived passwords such as IAM tokens. Run for new connections, at most twice a minute.",
    "the URL's password",
  ),
  preparedStatements: setting(
    'PREPARED_STATEMENTS',
    flag,
    true,
    '`off` for a connection pooler in transaction mode that does not support prepared statements, such as PgBouncer before 1.21.',
  ),
  redisUrl: setting(
    'REDIS_URL',
    optional(redisAddress),
    undefined,
    'The queue. Set it to scale workers out; `maxmemory-policy` must be `noeviction`. `redis://` or `rediss://` for one server, `redis+sentinel://host,host/name` for the primary that Sentinels watch, `redis+cluster://host,host` for a cluster.',
    'BullMQ on the same PostgreSQL',
  ),
  port: setting('PORT', integer(0, 65_535), 8080, 'Port of the web process.'),
  host: setting(
    'HOST',
    optional(listeningAddress),
    undefined,
    'The address on which `web` and `all` listen: `0.0.0.0` is every IPv4 address, `::` every address.',
    '`::` with `NODE_ENV=production`, otherwise `127.0.0.1`, as for `demo`',
  ),
  directoryUrl: setting(
    'DIRECTORY_URL',
    optional(databaseAddress),
    undefined,
    'PostgreSQL of the directory, if this installation is one of several cells. Its processes only read it.',
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
    'The URL of this cell alone, to which other cells refer clients of its tenants, if `BASE_URL` leads to a proxy in front of all cells.',
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
    'The public URL of the service. Required in production.',
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
    "Password of `pxadmin`, tenant 0's root role, set at the first start. At least 8 characters, and not a common password.",
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
    'Requests to `/auth`, `/anonauth`, `/oidc` and the sign-in forms from one address (one /64 for IPv6) in a minute; 0 for no limit.',
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
    'Whether identity providers may be in a private network and use plain http, even in production.',
  ),

  oidcTimeoutMs: setting(
    'OIDC_TIMEOUT_MS',
    integer(100, 60_000),
    5_000,
    'Timeout of a call to an identity provider, from name resolution to the last byte.',
  ),
  oidcReturnOrigins: setting(
    'OIDC_RETURN_ORIGINS',
    origins,
    [],
    'Origins besides this service that `return_to` may point to, comma-separated. They receive tokens.',
    'none',
  ),

  // HTTP
  corsOrigins: setting(
    'CORS_ORIGINS',
    originsOrAll,
    [],
    'Origins whose pages may call the API, comma-separated; `*` allows all, without credentials.',
    'none',
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    parseTrustedProxies,
    NO_PROXIES,
    'The proxies whose X-Forwarded-For is believed: a list of addresses, networks such as `10.0.0.0/8`, and `loopback`, `linklocal` and `uniquelocal`; or their number, of which the nearest is in one of these three.',
    'none',
  ),
  bodyLimitBytes: setting(
    'BODY_LIMIT_BYTES',
    integer(1024),
    1_048_576,
    'Maximum size of a request body, in bytes.',
  ),
  introspection: setting('GRAPHQL_INTROSPECTION', flag, true, 'Whether signed-in roles may introspect.'),

  // Reads and writes
  listDefaultLimit: setting(
    'LIST_DEFAULT_LIMIT',
    integer(1),
    100,
    'Default `limit` of a list, at every level.',
  ),
  listMaxLimit: setting('LIST_MAX_LIMIT', integer(1), 1000, 'Maximum `limit` of a list, at every level.'),
  maxAnswerBytes: setting(
    'MAX_ANSWER_BYTES',
    integer(1024, 134_217_728),
    16_777_216,
    'Maximum size of one response, all root fields together, in bytes.',
  ),
  maxAnswersInFlightBytes: setting(
    'MAX_ANSWERS_IN_FLIGHT_BYTES',
    integer(1024),
    134_217_728,
    'Maximum size of all responses in flight in one process, in bytes; beyond that, requests get 503. They take a few times as much memory.',
  ),
  answerStallMs: setting(
    'ANSWER_STALL_MS',
    integer(100),
    10_000,
    'A client that reads less than 64 KiB of a response in this time is disconnected.',
  ),
  answerTimeoutMs: setting(
    'ANSWER_TIMEOUT_MS',
    integer(100),
    60_000,
    'Maximum time for a client to read a response.',
  ),
  tenantConcurrency: setting(
    'TENANT_CONCURRENCY',
    integer(1),
    250,
    'Requests of one tenant that may wait in one web process; further ones get 503.',
  ),
  planningMsPerSecond: setting(
    'PLANNING_MS_PER_SECOND',
    integer(1, 1_000),
    100,
    'CPU time per second that one web process spends on new documents of one tenant while others are using it; further ones wait, then get 503.',
  ),

  // Anonymous visitors of one tenant, in each web process
  nobodyPlanningMsPerSecond: setting(
    'NOBODY_PLANNING_MS_PER_SECOND',
    integer(1, 1_000),
    20,
    'The same as `PLANNING_MS_PER_SECOND`, for documents of anonymous visitors.',
  ),
  nobodyRequestsPerMinute: setting(
    'NOBODY_REQUESTS_PER_MINUTE',
    integer(0),
    6_000,
    'GraphQL requests of anonymous visitors per minute; further ones get 429. 0 for no limit.',
  ),
  nobodyRequestsPerAddress: setting(
    'NOBODY_REQUESTS_PER_ADDRESS',
    integer(0),
    1_200,
    'GraphQL requests of anonymous visitors per minute from one address; 0 for no limit.',
  ),
  nobodyRowsPerMinute: setting(
    'NOBODY_ROWS_PER_MINUTE',
    integer(0),
    1_200,
    'Rows that anonymous visitors may create, update and delete per minute; 0 for no limit.',
  ),
  nobodyRolesPerMinute: setting(
    'NOBODY_ROLES_PER_MINUTE',
    integer(0),
    60,
    'Roles that anonymous visitors may try to create per minute; 0 for no limit.',
  ),
  nobodyRolesPerAddress: setting(
    'NOBODY_ROLES_PER_ADDRESS',
    integer(0),
    10,
    'Roles that anonymous visitors may try to create per minute from one address, including rejected attempts; 0 for no limit.',
  ),

  // PostgreSQL
  pgPool: setting(
    'PG_POOL',
    integer(4, 500),
    24,
    'Maximum connections of one process to PostgreSQL, shared by tenants, the service itself, the ledger, and the queue if it is in PostgreSQL.',
  ),
  statementTimeoutMs: setting(
    'STATEMENT_TIMEOUT_MS',
    integer(100),
    15_000,
    'Timeout of a statement of a request or an email query.',
  ),
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS',
    integer(100),
    30_000,
    'Timeout of the transaction of a request, all statements together.',
  ),
  lockTimeoutMs: setting('LOCK_TIMEOUT_MS', integer(100), 5_000, 'Maximum wait for a row lock.'),
  connectTimeoutMs: setting(
    'PG_CONNECT_TIMEOUT_MS',
    integer(100),
    5_000,
    'Maximum wait for a free connection.',
  ),
  schemaCheckMs: setting(
    'SCHEMA_CHECK_MS',
    integer(100),
    1_500,
    "How often a tenant's tables are checked for schema changes.",
  ),

  // Mail
  mailTransport: setting(
    'MAIL_TRANSPORT',
    optional(oneOf('sendgrid', 'mailbox')),
    undefined,
    '`mailbox` keeps mail locally, shown at `/mailbox`.',
    '`mailbox` in embedded mode, otherwise `sendgrid`',
  ),
  sendgridBaseUrl: setting(
    'SENDGRID_BASE_URL',
    url('http', 'https'),
    'https://api.sendgrid.com/',
    'Base URL of the SendGrid API; set it for another region or a test server.',
  ),
  sesBaseUrl: setting(
    'SES_BASE_URL',
    optional(url('http', 'https')),
    undefined,
    'Base URL of the SES API; set it to use a test server.',
    "that of the account's region",
  ),
  resendBaseUrl: setting(
    'RESEND_BASE_URL',
    url('http', 'https'),
    'https://api.resend.com/',
    'Base URL of the Resend API; set it to use a test server.',
  ),
  postmarkBaseUrl: setting(
    'POSTMARK_BASE_URL',
    url('http', 'https'),
    'https://api.postmarkapp.com/',
    'Base URL of the Postmark API; set it to use a test server.',
  ),
  mailgunBaseUrl: setting(
    'MAILGUN_BASE_URL',
    url('http', 'https'),
    'https://api.mailgun.net/',
    'Base URL of the Mailgun API; set it to use a test server.',
  ),
  mailgunEuBaseUrl: setting(
    'MAILGUN_EU_BASE_URL',
    url('http', 'https'),
    'https://api.eu.mailgun.net/',
    'Base URL of the Mailgun API for accounts in the EU; set it to use a test server.',
  ),
  smtpAllowPrivateNetwork: setting(
    'SMTP_ALLOW_PRIVATE_NETWORK',
    flag,
    false,
    "Whether tenants' SMTP servers may be in a private network, on any port and without encryption, even in production.",
  ),
  sendDeadlineMs: setting(
    'SEND_DEADLINE_MS',
    integer(100),
    15_000,
    'Timeout of a provider call, from connecting to the last byte of the response.',
  ),
  maxAttempts: setting('MAX_ATTEMPTS', integer(1, 1000), 12, 'Attempts before a delivery is `failed`.'),
  backoffBaseMs: setting(
    'BACKOFF_BASE_MS',
    integer(10),
    2_000,
    'First retry backoff; doubles with every attempt, with full jitter.',
  ),
  backoffCapMs: setting('BACKOFF_CAP_MS', integer(100), 3_600_000, 'Maximum retry backoff.'),

  // Files
  storageUrl: setting(
    'STORAGE_URL',
    optional(storageAddress),
    undefined,
    'Where files are stored: `file:<folder>` or `s3://<bucket>[/<prefix>]?region=…&endpoint=…`. Required in production.',
    '`file:<ROWPOST_DATA_DIR>/files`',
  ),
  fileMaxBytes: setting(
    'FILE_MAX_BYTES',
    integer(1, 5_368_709_120),
    5_368_709_120,
    'Maximum size of a file, in bytes.',
  ),
  fileTypes: setting(
    'FILE_TYPES',
    mediaTypes,
    ['*/*'],
    'Allowed media types of files, comma-separated, such as `image/*,application/pdf`.',
    '`*/*`',
  ),
  fileUrlSeconds: setting(
    'FILE_URL_SECONDS',
    integer(10, 604_800),
    3_600,
    'Validity of upload URLs, and of the `url` of files in responses, in seconds.',
  ),
  fileLinkSeconds: setting(
    'FILE_LINK_SECONDS',
    integer(60),
    7 * DAY_SECONDS,
    'Validity of links to files in emails, in seconds.',
  ),
  fileStallMs: setting(
    'FILE_STALL_MS',
    integer(100),
    30_000,
    'An upload or download that transfers less than 64 KiB in this time is aborted.',
  ),
  fileSweepMs: setting(
    'FILE_SWEEP_MS',
    integer(100),
    30_000,
    'How often leftovers of interrupted uploads and deleted rows are removed.',
  ),
  fileOrphanSeconds: setting(
    'FILE_ORPHAN_SECONDS',
    integer(0),
    3_600,
    'How long files of a row that was deleted with SQL are kept, in seconds. Files of a row deleted through the API are deleted immediately.',
  ),

  // Relay and worker
  workerConcurrency: setting(
    'WORKER_CONCURRENCY',
    integer(1, 1000),
    64,
    'Maximum deliveries in flight in one worker process.',
  ),
  renderThreads: setting(
    'RENDER_THREADS',
    integer(1, 64),
    2,
    'Processes that render templates, of each web process and worker.',
  ),
  relayBatch: setting('RELAY_BATCH', integer(1, 5_000), 100, 'Maximum events in one batch.'),
  relayPollMs: setting(
    'RELAY_POLL_MS',
    integer(5),
    100,
    'How often the relay polls for events if nothing wakes it.',
  ),
  reconcileMs: setting(
    'RECONCILE_MS',
    integer(100),
    5_000,
    'How often the reconciler compares unfinished work with the queue.',
  ),
  leaseMs: setting(
    'LEASE_MS',
    integer(500),
    6_000,
    'Duration of the lease of a worker on a delivery. Workers renew their leases; one that dies loses them after this time.',
  ),
  tenantEmailsPerSecond: setting(
    'TENANT_EMAILS_PER_SECOND',
    integer(0, 100_000),
    0,
    'Rate limit for the emails of each tenant, per second; further ones are delayed, without affecting other tenants. 0 for no limit.',
  ),
  ruleFiresPerMinute: setting(
    'RULE_FIRES_PER_MINUTE',
    integer(0, 1_000_000),
    60,
    'How often a rule may fire for one record within a minute; further deliveries are skipped as a loop. 0 for no limit.',
  ),
  queuePrefix: setting('QUEUE_PREFIX', text, 'rowpost', "Prefix of the queue's keys in Redis."),
  graceMs: setting('SHUTDOWN_GRACE_MS', integer(100), 25_000, 'Time to finish work in flight after SIGTERM.'),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    integer(0),
    0,
    'How long a web process still accepts requests after SIGTERM while `/readyz` responds with 503, so that load balancers stop sending requests first. Part of `SHUTDOWN_GRACE_MS`.',
  ),
  retentionDays: setting(
    'RETENTION_DAYS',
    integer(1),
    30,
    'Retention of events, deliveries and attempts, in days.',
  ),
  keepMailDays: setting(
    'KEEP_MAIL_DAYS',
    integer(0),
    0,
    'Retention of sent mails, encrypted, for the console, in days: at most `RETENTION_DAYS`. 0 keeps none; `rowpost demo` keeps them for 7.',
  ),

  // Operation
  healthPort: setting(
    'HEALTH_PORT',
    optional(integer(0, 65_535)),
    undefined,
    'Port on which a relay or worker serves `/livez` (also as `/healthz`), `/readyz` and `/metrics`; each process needs its own. No token is required, so do not expose it. `web` and `all` serve them on `PORT`.',
    'none',
  ),
  healthHost: setting(
    'HEALTH_HOST',
    optional(listeningAddress),
    undefined,
    'The address on which `HEALTH_PORT` listens.',
    '`HOST`',
  ),
  backlogAlarmSeconds: setting(
    'BACKLOG_ALARM_SECONDS',
    integer(0),
    60,
    '`rowpost doctor` and `/readyz` report a backlog in which something has waited longer than this, in seconds; 0 for no alarm.',
  ),
  logLinesPerSecond: setting(
    'LOG_LINES_PER_SECOND',
    integer(0),
    50,
    'Maximum log lines per second and process for requests, the same again for rejected requests, and likewise for deliveries. The rest are only counted. Failed requests, deliveries that failed permanently and internal errors have limits of their own, 50 each.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    oneOf<LogLevel>('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'fatal, error, warn, info, debug, trace or silent. `trace` logs every SQL statement, without values, with its duration and the name of its plan.',
  ),
} as const;
