import type { ResponseBudget } from '../db/pool/responseBudget.js';
import type { Catalog, Table } from '../db/catalog/catalog.js';
import type { EventKey, Reads } from '../db/failover/replica.js';
import type { RecordedRow, StoredFile } from '../db/files/files.js';
import type { PendingUpload } from '../db/files/uploads.js';
import type { Principal } from '../db/roles/principal.js';
import type { Sql } from '../db/sql/sql.js';
import type { AppError } from '../foundation/errors.js';
import { emailQueries, timed } from '../foundation/observability/metrics.js';
import { withCurrentCatalog } from './currentCatalog.js';
import { EvaluationLost, type EventRecords } from './email/condition.js';
import {
  runEmailQuery,
  validateEmailQuery,
  type EmailQuery,
  type EmailQueryOptions,
  type EmailQueryResult,
} from './email/emailQuery.js';
import { openEngine, type EngineOptions } from './engine.js';
import { explainRequest, type ExplainedField } from './explain.js';
import {
  findReachedFiles,
  recordStoredFile,
  requireFileRow,
  type FileRow,
  type RecordedFile,
  type StoredBytes,
} from './files/fileRows.js';
import { planOwnerOf, tenantPlans } from './plan/planOwner.js';
import type { PlanningQueue } from './plan/planningQueue.js';
import type { GraphqlRequest } from './plan/planRequest.js';
import type { Capability, Reach } from './policy/policy.js';
import { reachOf } from './policy/reachOf.js';
import { redirectIfMoved } from './redirectIfMoved.js';
import type { GraphqlResponse } from './response.js';
import type { SchemaDescription } from './schema/tenantSchema.js';
import { visibleCatalog } from './schema/visibleCatalog.js';
import { serveRequest, type RequestOptions } from './serveRequest.js';
import { oneStep } from './steps.js';

export { EvaluationLost };
export type { GraphqlRequest, GraphqlResponse };

/** The tenants' tables as GraphQL. */
export interface DataEngine {
  /** Serves a request to /query. Never throws for caller errors, which are part of the response. */
  execute(principal: Principal, request: GraphqlRequest, options: RequestOptions): Promise<GraphqlResponse>;
  /**
   * The statements that `execute` would run, with PostgreSQL's plans; runs nothing. Throws DocumentError, FieldError,
   * AppError.
   */
  explain(principal: Principal, request: GraphqlRequest): Promise<readonly ExplainedField[]>;
  /** Bounds all responses of the process, including those of control objects. */
  readonly responses: ResponseBudget;
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
  ): Promise<(boolean | AppError)[]>;
  /** Which rows of a table of `catalog` a capability grants to the principal, as a condition on `alias`. Throws AppError. */
  reach(
    principal: Principal,
    catalog: Catalog,
    of: { readonly capability: Capability; readonly table: Table; readonly alias: Sql },
  ): Promise<Reach>;
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

export function createDataEngine(options: EngineOptions): DataEngine {
  const engine = openEngine(options);
  const { catalogs, schemas, planning, conditions } = engine;

  return {
    responses: engine.responses,
    planning,
    execute: (principal, request, options) => serveRequest(engine, principal, request, options),
    explain: (principal, request) => explainRequest(engine, principal, request),
    async describe(tenantid, schema, principal) {
      const catalog = await catalogs.get(tenantid, schema);
      const { describe } = schemas.of(principal ? visibleCatalog(principal, catalog) : catalog);
      return planning.run(principal ? planOwnerOf(principal) : tenantPlans(tenantid), describe());
    },
    catalog: (tenantid, schema) => catalogs.get(tenantid, schema),
    introspect: (tenantid, schema) => catalogs.introspect(tenantid, schema),
    checkEmailQuery: (tenantid, schema, query) =>
      withCurrentCatalog(catalogs, { tenantid, schema }, (catalog) =>
        planning.run(tenantPlans(tenantid), validateEmailQuery(engine, tenantid, catalog, query)),
      ),
    runEmailQuery: (principal, query, options) =>
      timed(emailQueries, () => runEmailQuery(engine, principal, query, options)),
    readsWith: (event) => engine.replicas.readsWith(event),
    checkCondition: (tenantid, schema, target, condition) =>
      withCurrentCatalog(catalogs, { tenantid, schema }, (catalog) =>
        planning.run(
          tenantPlans(tenantid),
          oneStep(() => conditions.check(tenantid, catalog, target, condition)),
        ),
      ),
    evaluateCondition: (tenantid, schema, target, condition, events) =>
      withCurrentCatalog(catalogs, { tenantid, schema }, (catalog) =>
        conditions.evaluate(tenantid, catalog, target, condition, events),
      ),
    reach: (principal, catalog, of) => reachOf(engine, principal, catalog, of),
    requireFileRow: (principal, capability, row) =>
      withCurrentCatalog(catalogs, principal, (catalog) =>
        requireFileRow({ engine, principal, catalog, capability }, row),
      ),
    recordFile: (principal, upload, bytes) =>
      redirectIfMoved(engine, principal.tenantid, () =>
        withCurrentCatalog(catalogs, principal, (catalog) =>
          recordStoredFile({ engine, principal, catalog, capability: 'upload' }, upload, bytes),
        ),
      ),
    findFiles: (principal, capability, storagekeys, ofRow) =>
      withCurrentCatalog(catalogs, principal, (catalog) =>
        findReachedFiles({ engine, principal, catalog, capability }, storagekeys, ofRow),
      ),
    fileLink: (principal, storagekey) => engine.fileUrls.link(principal, storagekey),
    forget: (tenantid) => catalogs.forget(tenantid),
    forgetAll: () => catalogs.forgetAll(),
  };
}
