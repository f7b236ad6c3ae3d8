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
    'Maximum size of the body of a GraphQL request, in bytes.',
  ),
  introspection: setting('GRAPHQL_INTROSPECTION', flag, true, 'Whether clients may introspect.'),

  // Reads and writes
  listMaxLimit: setting('LIST_MAX_LIMIT', integer(1), 1000, 'Maximum `limit` of a list, at every level.'),
  maxResponseBytes: setting(
    'MAX_RESPONSE_BYTES',
    integer(1024, 134_217_728),
    16_777_216,
    'Maximum size of one GraphQL response, all root fields together, in bytes. Responses in flight in one process may have eight times as much together; beyond that, requests get 503. They take a few times as much memory.',
  ),

  // Anonymous clients of one tenant, in each web process
  anonymousRequestsPerMinute: setting(
    'ANONYMOUS_REQUESTS_PER_MINUTE',
    integer(0),
    6_000,
    "GraphQL requests of a tenant's anonymous clients per minute, in each web process, a fifth of them from one address, and as many rows that they may create, update and delete as one address may send requests; further ones get 429. 0 for no limit.",
  ),
  anonymousRolesPerMinute: setting(
    'ANONYMOUS_ROLES_PER_MINUTE',
    integer(0),
    60,
    "Roles that a tenant's anonymous clients may try to create per minute, in each web process, a sixth of them from one address, including rejected attempts; and a sixth as many logins that a role without all rights may try to take. 0 for no limit.",
  ),

  // PostgreSQL
  pgPool: setting(
    'PG_POOL',
    integer(4, 500),
    24,
    "Maximum connections of one process to PostgreSQL, for tenants, the service itself, the ledger, a relay's listeners, and the queue if it is in PostgreSQL. A few more are open for moments, for example to cancel statements.",
  ),
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS',
    integer(100),
    30_000,
    'Timeout of the transaction of a request, all statements together. One statement, of a request or an email query, may take half of it, and a client may take twice as long to read the response.',
  ),
  poolTimeoutMs: setting('PG_POOL_TIMEOUT_MS', integer(100), 5_000, 'Maximum wait for a free connection.'),
} as const;
