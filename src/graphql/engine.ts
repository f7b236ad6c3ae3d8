import type { Config } from '../config/config.js';
import type { KeyRing } from '../config/secrets.js';
import { ResponseBudget } from '../db/pool/responseBudget.js';
import { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Database } from '../db/pool/database.js';
import { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import { InternalErrors } from '../foundation/observability/internalErrors.js';
import type { Logger } from '../foundation/observability/log.js';
import { documentLimits } from './document/limits.js';
import { Conditions } from './email/condition.js';
import { FileUrls } from './files/fileUrls.js';
import { ParsedFilters } from './plan/parsedFilters.js';
import { PlanCache } from './plan/planCache.js';
import { PlanningQueue } from './plan/planningQueue.js';
import { BrokenRules } from './policy/brokenRules.js';
import { TenantSchemas } from './schema/tenantSchema.js';

export interface EngineOptions {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  /** Seals file URLs; by default `config.secretKeys`. */
  readonly keyRing?: KeyRing;
  /** Called after each commit of a mutation. */
  readonly onCommitted?: () => void;
}

/** A tenant's requests in flight for each connection that it may use: quick ones share connections and transactions. */
const REQUESTS_PER_CONNECTION = 4;

/** What all requests of a process share: connections, caches and limits. */
export type Engine = ReturnType<typeof openEngine>;

export function openEngine({ config, database, log, keyRing, onCommitted }: EngineOptions) {
  const { pool, tenants, transactions, replicas } = database;
  return {
    pool,
    transactions,
    replicas,
    isCell: config.cell !== undefined,
    onCommitted,
    catalogs: new CatalogStore({ pool, tenants, log, checkMs: config.schemaCheckMs }),
    schemas: new TenantSchemas(),
    plans: new PlanCache((owner) => documentLimits(config, owner)),
    planning: new PlanningQueue({
      msPerSecond: config.planningMsPerSecond,
      anonymousMsPerSecond: config.anonymousPlanningMsPerSecond,
      waiting: config.tenantQueueLength,
      waitMs: config.poolTimeoutMs,
    }),
    filters: new ParsedFilters(),
    conditions: new Conditions(transactions),
    limits: {
      defaultLimit: config.listDefaultLimit,
      maxLimit: config.listMaxLimit,
      responseBytes: config.maxResponseBytes,
    },
    responses: new ResponseBudget({
      requestBytes: config.maxResponseBytes,
      processBytes: config.maxResponsesInFlightBytes,
    }),
    limiter: new TenantLimiter({
      perTenant: tenants.maxPerTenant * REQUESTS_PER_CONNECTION,
      waiting: config.tenantQueueLength,
      waitMs: config.poolTimeoutMs,
    }),
    fileUrls: openFileUrls(config, keyRing ?? config.secretKeys),
    brokenRules: new BrokenRules(log),
    internalErrors: new InternalErrors(log),
  };
}

function openFileUrls(config: Config, keyRing: KeyRing | undefined): FileUrls {
  if (!keyRing) throw new Error('addresses of files need keys to sign them with');
  return new FileUrls({
    keyRing,
    baseUrl: config.baseUrl,
    isCell: config.cell !== undefined,
    urlSeconds: config.fileUrlSeconds,
    linkSeconds: config.fileLinkSeconds,
    maxBytes: config.fileMaxBytes,
    now: Date.now,
  });
}
