import type { Config } from '../config/config.js';
import { AnswerBudget, type AnswerShare } from '../db/pool/answerBudget.js';
import type { Catalog } from '../db/catalog/catalog.js';
import { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Database } from '../db/pool/database.js';
import type { EventKey, Reads } from '../db/failover/replica.js';
import { readFiles, type RecordedRow, type StoredFile } from '../db/files/files.js';
import type { PendingUpload } from '../db/files/uploads.js';
import type { Principal } from '../db/roles/principal.js';
import { requireHere } from '../db/cells/placement.js';
import { INSUFFICIENT_PRIVILEGE, isDatabaseAnswer, isSessionEnd } from '../db/sql/sqlState.js';
import { toAppError, type PostgresError } from '../db/sql/toAppError.js';
import { AppError } from '../foundation/errors.js';
import { InternalErrors } from '../foundation/observability/internalErrors.js';
import type { Logger } from '../foundation/observability/log.js';
import { emailQueries, timed } from '../foundation/observability/metrics.js';
import type { KeyRing } from '../config/secrets.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { Allowance } from './allowance.js';
import { dataResponse, failedResponse, FieldError, requestError, type GraphqlResponse } from './response.js';
import type { Execution } from './assemble.js';
import { withCurrentCatalog } from './currentCatalog.js';
import { oneStep } from './steps.js';
import { DocumentError } from './document/document.js';
import { documentLimits } from './document/limits.js';
import { Conditions, type EventRecords, type Verdict } from './email/condition.js';
import {
  runEmailQuery,
  validateEmailQuery,
  type EmailQuery,
  type EmailQueryOptions,
  type EmailQueryResult,
} from './email/emailQuery.js';
import { executeRequest, schemaOf, type EngineDeps } from './execute.js';
import { explainRequest, type ExplainedField } from './explain.js';
import {
  reachedFiles,
  recordStoredFile,
  requireFileRow,
  type FileRow,
  type RecordedFile,
  type StoredBytes,
} from './files/fileRows.js';
import { FileUrls } from './files/fileUrls.js';
import { findFirstAnswer, idempotencyOf, type IdempotencyKey } from './idempotency.js';
import { ParsedFilters } from './plan/parsedFilters.js';
import { PlanCache } from './plan/planCache.js';
import { planOwnerOf, tenantPlans } from './plan/planOwner.js';
import { PlanningQueue } from './plan/planningQueue.js';
import type { GraphqlRequest } from './plan/planRequest.js';
import { BrokenRules } from './policy/brokenRules.js';
import { TenantSchemas, type SchemaDescription } from './schema/tenantSchema.js';
import { visibleCatalog } from './schema/visibleCatalog.js';
import { TenantGate } from '../foundation/limits/tenantGate.js';

export type { GraphqlResponse } from './response.js';
export type { GraphqlRequest } from './plan/planRequest.js';

/** The tenants' tables as GraphQL. */
export interface DataEngine {
  /** Serves a request to /query. Never throws for caller errors, which are part of the response. */
  execute(
    principal: Principal,
    request: GraphqlRequest,
    options: {
      readonly allowMutation: boolean;
      readonly allowance?: Allowance | undefined;
      /** Of a mutation. */
      readonly idempotencyKey?: IdempotencyKey | undefined;
      /** For log messages. */
      readonly requestId?: string | undefined;
      readonly span?: Span | undefined;
      /** Where a query reads: a replica may lag slightly. Defaults to the role's setting. */
      readonly readFrom?: 'primary' | 'replica' | undefined;
    },
  ): Promise<GraphqlResponse>;
  /**
   * The statements that `execute` would run, with PostgreSQL's plans; runs nothing. Throws DocumentError, FieldError,
   * AppError.
   */
  explain(principal: Principal, request: GraphqlRequest): Promise<readonly ExplainedField[]>;
  /** Bounds all responses of the process, including those of control objects. */
  readonly answers: AnswerBudget;
  /** Planning for all tenants of the process, including control objects. */
  readonly planning: PlanningQueue;
  /** SDL and introspection JSON text of a tenant's /query, cached with its schema. */
  describe(tenantid: number, schema: string, principal?: Principal): Promise<SchemaDescription>;
  catalog(tenantid: number, schema: string): Promise<Catalog>;
  /** Rereads the tenant's tables now, grants the tenant's role missing privileges, and returns the new catalog. */
  introspect(tenantid: number, schema: string): Promise<Catalog>;
  /** Throws AppError EMAIL_QUERY_INVALID, with line and column, if an email type's query can't run on the tenant's tables. */
  checkEmailQuery(tenantid: number, schema: string, query: EmailQuery): Promise<void>;
  /** Runs it read-only under the principal's rules. Throws AppError. */
  runEmailQuery(
    principal: Principal,
    query: EmailQuery,
    options?: EmailQueryOptions,
  ): Promise<EmailQueryResult>;
  /** A replica that already has the event; undefined if the primary must be read. */
  readsWith(event: EventKey): Promise<Reads | undefined>;
  /** Throws AppError UNKNOWN_TABLE, FILTER_* when a rule's condition doesn't compile against the table. */
  checkCondition(tenantid: number, schema: string, target: string, condition: string): Promise<void>;
  /** Whether the condition holds for each event, or why it can't be evaluated; relations are read in their current state. Throws AppError. */
  evaluateCondition(
    tenantid: number,
    schema: string,
    target: string,
    condition: string,
    events: readonly EventRecords[],
  ): Promise<Verdict[]>;
  /** Throws AppError PERMISSION_DENIED, NOT_FOUND if the principal can't currently access the files' row with this capability. */
  requireFileRow(principal: Principal, capability: 'upload' | 'download', row: FileRow): Promise<void>;
  /** Records a file whose bytes are stored durably, with its event; see `recordStoredFile`. Throws AppError. */
  recordFile(principal: Principal, upload: PendingUpload, bytes: StoredBytes): Promise<RecordedFile>;
  /**
   * In the order of `storagekeys`; undefined for a file that is gone, hidden from the principal, or belongs to another
   * row. Throws AppError.
   */
  findFiles(
    principal: Principal,
    capability: 'upload' | 'download',
    storagekeys: readonly string[],
    ofRow?: RecordedRow,
  ): Promise<readonly (StoredFile | undefined)[]>;
  /** A link to a file for an email; permission is checked when it is used. */
  fileLink(principal: Pick<Principal, 'tenantid' | 'roleid'>, storagekey: string): string;
  /** Drops a tenant's cache entries. */
  forget(tenantid: number): void;
  /** Drops all tenants' cache entries: the database has been replaced or restored. */
  forgetAll(): void;
}

export interface DataEngineDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  /** Seals file URLs; by default `config.secretKeys`. */
  readonly keyRing?: KeyRing;
  /** Called after each commit of a mutation. */
  readonly onCommitted?: () => void;
}

/**
 * A tenant's requests in flight for each connection that it may use: quick ones share connections and transactions, the more the
 * better (reads: +20 to +40 % at 16 and 64 in flight).
 */
const REQUESTS_PER_CONNECTION = 4;

export function createDataEngine(deps: DataEngineDeps): DataEngine {
  const { database, log } = deps;
  const { pool, replicas } = database;
  const engine = openEngine(deps);
  const { catalogs, schemas } = engine;
  const conditions = new Conditions(engine.transactions);
  const internal = new InternalErrors(log);

  return {
    answers: engine.answers,
    planning: engine.planning,
    async execute(principal, request, options) {
      const { allowMutation, allowance, idempotencyKey, requestId, span } = options;
      const readFrom = options.readFrom ?? (principal.readsReplica ? 'replica' : 'primary');
      const { tenantid, schema } = principal;
      const answer = engine.answers.open(tenantid);
      try {
        const idempotency =
          idempotencyKey === undefined || schema === null || !allowMutation
            ? undefined
            : idempotencyOf(idempotencyKey, request);
        return await atHome(deps, tenantid, async () => {
          const first =
            idempotency && (await findFirstAnswer(engine.transactions, principal, idempotency, answer));
          if (first?.body !== undefined) return { status: 200, body: first.body, release: answer.release };
          const { fields, errors } = await executeRequest(engine, principal, request, {
            allowMutation,
            answer,
            allowance,
            idempotency: idempotency && { ...idempotency, isReused: first !== undefined },
            span,
            reads: readFrom === 'replica' ? replicas.reads() : undefined,
          });
          const response = dataResponse(fields, errors);
          if (errors.length > 0) countErrors(response, fields, answer);
          return { ...response, release: answer.release };
        });
      } catch (error) {
        answer.release();
        return toAnswer(error, (cause) => internal.report(cause, 'a request failed', tenantid, requestId));
      }
    },
    explain: (principal, request) => explainRequest(engine, principal, request),
    async describe(tenantid, schema, principal) {
      const catalog = await catalogs.get(tenantid, schema);
      const { describe } = schemas.of(principal ? visibleCatalog(principal, catalog) : catalog);
      return engine.planning.run(principal ? planOwnerOf(principal) : tenantPlans(tenantid), describe());
    },
    catalog: (tenantid, schema) => catalogs.get(tenantid, schema),
    introspect: (tenantid, schema) => catalogs.introspect(tenantid, schema),
    checkEmailQuery: (tenantid, schema, query) =>
      withCurrentCatalog(catalogs, tenantid, schema, (catalog) =>
        engine.planning.run(tenantPlans(tenantid), validateEmailQuery(engine, tenantid, catalog, query)),
      ),
    runEmailQuery: (principal, query, options) =>
      timed(emailQueries, () => runEmailQuery(engine, principal, query, options)),
    readsWith: (event) => replicas.readsWith(event),
    checkCondition: (tenantid, schema, target, condition) =>
      withCurrentCatalog(catalogs, tenantid, schema, (catalog) =>
        engine.planning.run(
          tenantPlans(tenantid),
          oneStep(() => conditions.check(tenantid, catalog, target, condition)),
        ),
      ),
    evaluateCondition: (tenantid, schema, target, condition, events) =>
      withCurrentCatalog(catalogs, tenantid, schema, (catalog) =>
        conditions.evaluate(tenantid, catalog, target, condition, events),
      ),
    requireFileRow: (principal, capability, row) =>
      withCurrentCatalog(catalogs, principal.tenantid, schemaOf(principal), (catalog) =>
        requireFileRow(engine, principal, catalog, capability, row),
      ),
    async recordFile(principal, upload, bytes) {
      const file = await atHome(deps, principal.tenantid, () =>
        withCurrentCatalog(catalogs, principal.tenantid, schemaOf(principal), (catalog) =>
          recordStoredFile(engine, principal, catalog, upload, bytes),
        ),
      );
      deps.onCommitted?.();
      return file;
    },
    findFiles: (principal, capability, storagekeys, ofRow) =>
      withCurrentCatalog(catalogs, principal.tenantid, schemaOf(principal), async (catalog) => {
        const row = ofRow && { ...ofRow, target: catalog.tables.get(ofRow.target)?.sqlName ?? '' };
        const files = await readFiles(pool, principal.tenantid, storagekeys, row).catch((error: unknown) => {
          throw toAppError(error);
        });
        return reachedFiles(engine, principal, catalog, capability, files);
      }),
    fileLink: (principal, storagekey) => engine.fileUrls.link(principal, storagekey),
    forget: (tenantid) => {
      catalogs.forget(tenantid);
    },
    forgetAll: () => {
      catalogs.forgetAll();
    },
  };
}

/** The data was counted as it arrived. Throws AppError. */
function countErrors({ body }: GraphqlResponse, fields: Execution['fields'], answer: AnswerShare): void {
  const refusal = answer.take(body.length - fields.reduce((sum, [, json]) => sum + json.length, 0));
  if (refusal) throw refusal;
}

/** The state that requests share. */
function openEngine({ config, database, log, onCommitted, ...deps }: DataEngineDeps): EngineDeps {
  const { pool, tenants } = database;
  return {
    catalogs: new CatalogStore({ pool, tenants, log, checkMs: config.schemaCheckMs }),
    schemas: new TenantSchemas(),
    plans: new PlanCache((owner) => documentLimits(config, owner)),
    planning: new PlanningQueue({
      msPerSecond: config.planningMsPerSecond,
      nobodyMsPerSecond: config.nobodyPlanningMsPerSecond,
      waiting: config.tenantConcurrency,
      waitMs: config.connectTimeoutMs,
    }),
    filters: new ParsedFilters(),
    transactions: database.transactions,
    limits: {
      defaultLimit: config.listDefaultLimit,
      maxLimit: config.listMaxLimit,
      answerBytes: config.maxAnswerBytes,
    },
    answers: new AnswerBudget({
      requestBytes: config.maxAnswerBytes,
      processBytes: config.maxAnswersInFlightBytes,
    }),
    gate: new TenantGate({
      running: database.tenants.maxPerTenant * REQUESTS_PER_CONNECTION,
      waiting: config.tenantConcurrency,
      waitMs: config.connectTimeoutMs,
    }),
    fileUrls: openFileUrls(config, deps.keyRing ?? config.secretKeys),
    brokenRules: new BrokenRules(log),
    ...(onCommitted ? { onCommitted } : {}),
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

/**
 * In a cell, a tenant that was handed over has no rights, and a moment later no rows: its caller is told where it went, not what
 * PostgreSQL said. If it is still here, its move may have been undone since, so a statement without rights runs once more.
 */
async function atHome<T>(
  { config, database }: DataEngineDeps,
  tenantid: number,
  run: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const refusal = refusalBehind(error);
      if (config.cell === undefined || !refusal) throw error;
      await requireHere(database.knex, tenantid);
      if (attempt === 2 || refusal.code !== INSUFFICIENT_PRIVILEGE) throw error;
    }
  }
}

/** PostgreSQL's refusal of a statement, or of its commit: nothing was changed. */
function refusalBehind(error: unknown): PostgresError | undefined {
  if (isDatabaseAnswer(error)) return isSessionEnd(error) ? undefined : error;
  if (error instanceof AppError && error.code === 'OUTCOME_UNKNOWN') return undefined;
  return error instanceof Error ? refusalBehind(error.cause) : undefined;
}

/** @param report of an error that is ours */
function toAnswer(error: unknown, report: (error: AppError) => void): GraphqlResponse {
  if (error instanceof DocumentError) return requestError(error.error, error.graphqlErrors);
  const shown = error instanceof FieldError || error instanceof AppError ? error : toAppError(error);
  const cause = shown instanceof FieldError ? shown.error : shown;
  if (cause.code === 'INTERNAL_ERROR') report(cause);
  if (cause.code === 'METHOD_NOT_ALLOWED') return requestError(cause);
  return failedResponse(shown);
}
