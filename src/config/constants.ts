/** What no operator can know better than we do. It is part of the configuration so that tests can shorten it. */
export const CONSTANTS = {
  /** How often the relay polls for events if nothing wakes it. */
  relayPollMs: 100,
  /** How often the reconciler compares unfinished work with the queue. */
  reconcileMs: 5_000,
  /** How often a tenant's tables are checked for schema changes. */
  schemaCheckMs: 1_500,
  /** First retry backoff; doubles with every attempt, with full jitter. */
  backoffBaseMs: 2_000,
  /** How often a rule may fire for one record within a minute; further deliveries are skipped as a loop. */
  ruleFiresPerMinute: 60,
  /** Validity of upload URLs, and of the `url` of files in responses. */
  fileUrlSeconds: 3_600,
  /** How often leftovers of interrupted uploads and deleted rows are removed. */
  fileSweepMs: 30_000,
  /** How long files of a row that was deleted with SQL are kept. */
  fileOrphanSeconds: 3_600,
  /** An upload or download that transfers less than 64 KiB in this time is aborted. */
  fileStallMs: 30_000,
  /** A client that reads less than 64 KiB of a response in this time is disconnected. */
  responseStallMs: 10_000,
  /** Default `limit` of a list, at every level. */
  listDefaultLimit: 100,
  /** Requests of one tenant that may wait in one web process. */
  tenantQueueLength: 250,
  /** CPU time per second that one web process spends on new documents of one tenant while others are using it. */
  planningMsPerSecond: 100,
  /** The same for its anonymous clients. */
  anonymousPlanningMsPerSecond: 20,
  /** Maximum wait for a row lock. */
  lockTimeoutMs: 5_000,
  /** Timeout of a call to an identity provider, from name resolution to the last byte. */
  oidcTimeoutMs: 5_000,
  /** Of each kind of line, in each process. */
  logLinesPerSecond: 50,
};

/** What follows from settings. A limit of 0 is none. */
export function deriveSettings(settings: {
  readonly requestTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly anonymousRequestsPerMinute: number;
  readonly anonymousRolesPerMinute: number;
  readonly signInFailuresPerLogin: number;
}) {
  return {
    /** Of a statement of a request or an email query. */
    statementTimeoutMs: Math.ceil(settings.requestTimeoutMs / 2),
    /** For a client to read a response. */
    responseTimeoutMs: 2 * settings.requestTimeoutMs,
    /** In one process. They take a few times as much memory. */
    maxResponsesInFlightBytes: 8 * settings.maxResponseBytes,
    anonymousRequestsPerAddress: Math.ceil(settings.anonymousRequestsPerMinute / 5),
    /** Rows that anonymous clients may create, update and delete per minute. */
    anonymousRowsPerMinute: Math.ceil(settings.anonymousRequestsPerMinute / 5),
    anonymousRolesPerAddress: Math.ceil(settings.anonymousRolesPerMinute / 6),
    /** From all addresses, before further attempts have to wait. */
    signInFailuresBeforeDelay: 10 * settings.signInFailuresPerLogin,
  };
}
