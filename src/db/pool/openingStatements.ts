import type { Lease } from './connectionPool.js';
import { preparedText, type PreparedText } from './preparedStatements.js';
import type { TenantConnections } from '../isolation/tenantConnections.js';
import type { TransactionRequest, TransactionStatement } from './transactionRequest.js';

/** While several requests share a transaction, a wait for a lock would hold up the others. */
const SHARED_LOCK_TIMEOUT = '50ms';

const BEGIN = preparedText('begin');
const CLEAN = preparedText('select rowpost_tenant.clean_session()');
/** Before the role is entered, so that it fails once the revocation of the role has been replayed. The view says why. */
const REPLICA_LOCK = preparedText('select from rowpost_tenant.replica_lock');
const ENTER = preparedText("select pg_catalog.set_config('role', $1, true)");
const ENTER_TO_SHARE = preparedText(
  `select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('lock_timeout', '${SHARED_LOCK_TIMEOUT}', true)`,
);
const ENTER_AND_READ = preparedText(
  "select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('transaction_read_only', 'on', true)",
);
const ONLY_READ = preparedText("select pg_catalog.set_config('transaction_read_only', 'on', true)");
const ONLY_READ_BRIEFLY = preparedText(
  "select pg_catalog.set_config('transaction_read_only', 'on', true), pg_catalog.set_config('statement_timeout', $1, true)",
);
/** By which PostgreSQL reads values and computes what the tenant's schema leaves to it. */
const AS_OWNER = preparedText(
  "select pg_catalog.set_config('TimeZone', $1, true), pg_catalog.set_config('DateStyle', $2, true)",
);
/** Stored with the transaction's events. */
const TRACE = preparedText("select pg_catalog.set_config('rowpost.traceparent', $1, true)");

interface OpeningOptions {
  readonly traceparent: string | undefined;
  /** Whether several requests share the transaction. */
  readonly isShared: boolean;
  /** Whether the session may be any that others have used. */
  readonly isPooled: boolean;
}

/** The statements that precede the request's own. */
export function openingStatements(
  connections: Pick<TenantConnections, 'role' | 'isReplica' | 'settingsOf'>,
  lease: Lease,
  request: TransactionRequest,
  options: OpeningOptions,
): readonly TransactionStatement[] {
  const { traceparent } = options;
  const entering = enteringStatements(connections, lease, request, options);
  const traced = traceparent === undefined ? [] : [{ statement: TRACE, values: [traceparent] }];
  const { bracket, tenantid } = request;
  const settings = tenantid === null ? undefined : connections.settingsOf(tenantid);
  const asOwner = settings ? [{ statement: AS_OWNER, values: [settings.timeZone, settings.dateStyle] }] : [];
  return bracket
    ? [{ statement: BEGIN, values: [] }, ...entering, ...asOwner, ...traced, bracket.before]
    : [...entering, ...asOwner, ...traced];
}

function enteringStatements(
  connections: Pick<TenantConnections, 'role' | 'isReplica'>,
  lease: Lease,
  { tenantid, mode, statementTimeoutMs }: TransactionRequest,
  { isShared, isPooled }: OpeningOptions,
): readonly TransactionStatement[] {
  if (tenantid === null || lease.login !== 'shared') {
    if (mode !== 'read') return [];
    return statementTimeoutMs === undefined
      ? [{ statement: ONLY_READ, values: [] }]
      : [{ statement: ONLY_READ_BRIEFLY, values: [String(statementTimeoutMs)] }];
  }
  const enter = { statement: enterStatement(mode, isShared), values: [connections.role(tenantid)] };
  const isClean = lease.servedTenant === tenantid && !isPooled;
  const entering = connections.isReplica ? [{ statement: REPLICA_LOCK, values: [] }, enter] : [enter];
  return isClean ? entering : [{ statement: CLEAN, values: [] }, ...entering];
}

function enterStatement(mode: TransactionRequest['mode'], isShared: boolean): PreparedText {
  if (mode === 'read') return ENTER_AND_READ;
  return isShared ? ENTER_TO_SHARE : ENTER;
}
