import { NO_PROXIES, parseTrustedProxies } from '../../foundation/net/trustedProxies.js';
import { setting } from './setting.js';
import { flag, integer, originsOrAll } from '../settingValues.js';

export const REQUESTS = {
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
    integer(1024, Number.MAX_SAFE_INTEGER),
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
  maxResponseBytes: setting(
    'MAX_RESPONSE_BYTES',
    integer(1024, 134_217_728),
    16_777_216,
    'Maximum size of one response, all root fields together, in bytes.',
  ),
  maxResponsesInFlightBytes: setting(
    'MAX_RESPONSES_IN_FLIGHT_BYTES',
    integer(1024, Number.MAX_SAFE_INTEGER),
    134_217_728,
    'Maximum size of all responses in flight in one process, in bytes; beyond that, requests get 503. They take a few times as much memory.',
  ),
  responseStallMs: setting(
    'RESPONSE_STALL_MS',
    integer(100),
    10_000,
    'A client that reads less than 64 KiB of a response in this time is disconnected.',
  ),
  responseTimeoutMs: setting(
    'RESPONSE_TIMEOUT_MS',
    integer(100),
    60_000,
    'Maximum time for a client to read a response.',
  ),
  tenantQueueLength: setting(
    'TENANT_QUEUE_LENGTH',
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

  // Anonymous clients of one tenant, in each web process
  anonymousPlanningMsPerSecond: setting(
    'ANONYMOUS_PLANNING_MS_PER_SECOND',
    integer(1, 1_000),
    20,
    'The same as `PLANNING_MS_PER_SECOND`, for documents of anonymous clients.',
  ),
  anonymousRequestsPerMinute: setting(
    'ANONYMOUS_REQUESTS_PER_MINUTE',
    integer(0),
    6_000,
    'GraphQL requests of anonymous clients per minute; further ones get 429. 0 for no limit.',
  ),
  anonymousRequestsPerAddress: setting(
    'ANONYMOUS_REQUESTS_PER_ADDRESS',
    integer(0),
    1_200,
    'GraphQL requests of anonymous clients per minute from one address; 0 for no limit.',
  ),
  anonymousRowsPerMinute: setting(
    'ANONYMOUS_ROWS_PER_MINUTE',
    integer(0),
    1_200,
    'Rows that anonymous clients may create, update and delete per minute; 0 for no limit.',
  ),
  anonymousRolesPerMinute: setting(
    'ANONYMOUS_ROLES_PER_MINUTE',
    integer(0),
    60,
    'Roles that anonymous clients may try to create per minute; 0 for no limit.',
  ),
  anonymousRolesPerAddress: setting(
    'ANONYMOUS_ROLES_PER_ADDRESS',
    integer(0),
    10,
    'Roles that anonymous clients may try to create per minute from one address, including rejected attempts; 0 for no limit.',
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
  poolTimeoutMs: setting('PG_POOL_TIMEOUT_MS', integer(100), 5_000, 'Maximum wait for a free connection.'),
  schemaCheckMs: setting(
    'SCHEMA_CHECK_MS',
    integer(100),
    1_500,
    "How often a tenant's tables are checked for schema changes.",
  ),
} as const;
