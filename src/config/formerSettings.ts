import { CONSTANTS } from './constants.js';

const REQUESTS = 'it follows from REQUEST_TIMEOUT_MS';
const ANONYMOUS = 'it follows from ANONYMOUS_REQUESTS_PER_MINUTE';

/** Settings of 0.1.0 that are none any more, and what holds instead. */
export const FORMER_SETTINGS: Readonly<Record<string, string>> = {
  STATEMENT_TIMEOUT_MS: REQUESTS,
  RESPONSE_TIMEOUT_MS: REQUESTS,
  MAX_RESPONSES_IN_FLIGHT_BYTES: 'it follows from MAX_RESPONSE_BYTES',
  ANONYMOUS_REQUESTS_PER_ADDRESS: ANONYMOUS,
  ANONYMOUS_ROWS_PER_MINUTE: ANONYMOUS,
  ANONYMOUS_ROLES_PER_ADDRESS: 'it follows from ANONYMOUS_ROLES_PER_MINUTE',
  SIGN_IN_FAILURES_BEFORE_DELAY: 'it follows from SIGN_IN_FAILURES_PER_LOGIN',
  ANONYMOUS_PLANNING_MS_PER_SECOND: always('anonymousPlanningMsPerSecond'),
  BACKOFF_BASE_MS: always('backoffBaseMs'),
  FILE_ORPHAN_SECONDS: always('fileOrphanSeconds'),
  FILE_STALL_MS: always('fileStallMs'),
  FILE_SWEEP_MS: always('fileSweepMs'),
  FILE_URL_SECONDS: always('fileUrlSeconds'),
  LIST_DEFAULT_LIMIT: always('listDefaultLimit'),
  LOCK_TIMEOUT_MS: always('lockTimeoutMs'),
  LOG_LINES_PER_SECOND: always('logLinesPerSecond'),
  OIDC_TIMEOUT_MS: always('oidcTimeoutMs'),
  PLANNING_MS_PER_SECOND: always('planningMsPerSecond'),
  RECONCILE_MS: always('reconcileMs'),
  RELAY_POLL_MS: always('relayPollMs'),
  RESPONSE_STALL_MS: always('responseStallMs'),
  RULE_FIRES_PER_MINUTE: always('ruleFiresPerMinute'),
  SCHEMA_CHECK_MS: always('schemaCheckMs'),
  TENANT_QUEUE_LENGTH: always('tenantQueueLength'),
};

function always(name: keyof typeof CONSTANTS): string {
  return `it is always ${CONSTANTS[name]}`;
}
