import { Mutex } from 'async-mutex';
import {
  execute,
  introspectionFromSchema,
  OperationTypeNode,
  printSchema,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { AppError } from '../foundation/errors.js';
import type { StatementRunner } from '../db/sql/statementRunner.js';
import { actingBy } from '../db/roles/actingBy.js';
import { readPrincipal, type Principal } from '../db/roles/principal.js';
import { failedResponse, requestError, type GraphqlResponse } from '../graphql/response.js';
import { DocumentError, type ReadyDocument } from '../graphql/document/document.js';
import { readVariables } from '../graphql/document/variables.js';
import { InternalErrors } from '../foundation/observability/internalErrors.js';
import type { GraphqlRequest } from '../graphql/dataEngine.js';
import { createListReader } from '../graphql/listReader.js';
import { planOwnerOf } from '../graphql/plan/planOwner.js';
import { oneStep } from '../graphql/steps.js';
import { TenantLimiter, type LimiterOptions } from '../foundation/limits/tenantLimiter.js';
import { commitMutations } from './request/commitMutations.js';
import { Documents } from './request/documents.js';
import { requireResponseWithin } from './request/responseSize.js';
import { ResponseValues } from './request/responseValues.js';
import { CONTROL_CATALOG } from './controlCatalog.js';
import { buildControlSchema } from './controlSchema.js';
import { lockTenant } from './lockTenant.js';
import type { ControlContext, ControlEngineDeps, ControlOptions } from './controlContext.js';
import { givePassword, hashPasswords } from './request/passwordHashes.js';
import { mutationInputs } from './request/mutationInputs.js';
import { limitNewKeys } from './oidc/clientKeys.js';
import { learnProviders } from './oidc/learnProviders.js';
import { discoverEndpoints } from './oidc/providerEndpoints.js';
import { isReauthenticated } from './roles/reauthentication.js';
import { executionResponse, toPublicError } from './request/executionResponse.js';
import { introspectQuery, withIntrospected, type Introspected } from './request/introspection.js';
import {
  CLIENT_FILTER_MS,
  createValueCounter,
  limitMutations,
  limitUtilities,
  limitValues,
} from './request/documentLimits.js';
import { rootFields } from '../graphql/document/rootFields.js';
import { listedRows, resolveField } from './derive/listedRow.js';
import { isExternalCall } from './request/externalCalls.js';
import { visibleTo } from './objects/index.js';

export type { ControlEngineDeps, ControlOptions } from './controlContext.js';

/** The control objects as GraphQL: `/roles_pbac`. */
export interface ControlEngine {
  /** Never throws for caller errors, which are part of the response. All mutations of a request are one transaction. */
  execute(principal: Principal, request: GraphqlRequest, options: ControlOptions): Promise<GraphqlResponse>;
  /** SDL and the JSON text of an introspection result. */
  describe(): { readonly sdl: string; readonly introspectionJson: string };
}

/** Limits on previews and test emails of one tenant: render processes and connections are shared. */
const COMPOSING = { perTenant: 2, waiting: 20 };
/** Limits on calls of carriers for requests of one tenant: its server may not respond, and a test email is held until it does. */
const CALLING = { perTenant: 2, waiting: 20 };
/** Limits on transactions of one tenant: connections for control tables are few, and sign-ins need them. */
const CHANGING = { perTenant: 2, waiting: 20 };
/** Limits on requests of one tenant that give passwords: these are hashed before the request counts as a change. */
const HASHING = { perTenant: 2, waiting: 20 };
/** Limits on queries of one tenant: more than `COMPOSING`, so that previews don't block lists. */
const READING = { perTenant: 4, waiting: 40 };
/** Limit on work of one tenant that waits for a connection. */
const MAX_WAITING = 40;
/** Connections that sign-ins, loads of principals, and statements within a transaction always find free. */
const RESERVED_CONNECTIONS = 2;
/** Per request, because nested lists in a mutation's response multiply. */
const MAX_RELATED_READS = 500;

export function createControlEngine(deps: ControlEngineDeps): ControlEngine {
  const schema = buildControlSchema();
  const documents = new Documents(schema, deps.config);
  const limiter = (limits: LimiterOptions): TenantLimiter =>
    new TenantLimiter({ ...limits, waitMs: deps.config.poolTimeoutMs });
  const [composing, changing, reading] = [limiter(COMPOSING), limiter(CHANGING), limiter(READING)];
  const [hashing, calling] = [limiter(HASHING), limiter(CALLING)];
  const internal = new InternalErrors(deps.log);
  const connections = limiter({
    max: Math.max(1, deps.database.pool.options.max - RESERVED_CONNECTIONS),
    waiting: MAX_WAITING,
  });
  const description = {
    sdl: printSchema(schema),
    introspectionJson: JSON.stringify(introspectionFromSchema(schema)),
  };
  return {
    describe: () => description,
    async execute(principal, request, options) {
      const report = (message: string) => (error: unknown) =>
        internal.report(error, message, principal.tenantid, options.requestId);
      try {
        const owner = planOwnerOf(principal);
        const ready = await deps.engine.planning.run(owner, documents.read(owner, request));
        const variables = readVariables(ready, request.variables);
        const isMutation = ready.operation.operation === OperationTypeNode.MUTATION;
        const values = new ResponseValues(deps.engine.responses.open(principal.tenantid), isMutation);
        const run: Run = {
          deps,
          schema,
          ready,
          variables,
          principal,
          options,
          composing,
          calling,
          changing,
          hashing,
          reading,
          connections,
          values,
          reportFieldError: report('a control field failed'),
        };
        const response = await respond(run).finally(() => values.release());
        return counted(run, response);
      } catch (error) {
        if (error instanceof DocumentError) return requestError(error.error, error.graphqlErrors);
        return failedResponse(toPublicError(error, report('a control request failed')));
      }
    },
  };
}

interface Run {
  readonly deps: ControlEngineDeps;
  readonly schema: GraphQLSchema;
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly principal: Principal;
  readonly options: ControlOptions;
  readonly composing: TenantLimiter;
  readonly calling: TenantLimiter;
  readonly changing: TenantLimiter;
  readonly hashing: TenantLimiter;
  readonly reading: TenantLimiter;
  readonly connections: TenantLimiter;
  readonly values: ResponseValues;
  /** Logs an internal error. */
  readonly reportFieldError: (error: unknown) => void;
}

/** What is found out before a transaction begins. */
type Prepared = Pick<ControlContext, 'isReauthenticated' | 'passwordHashes' | 'discoveredEndpoints'>;

const NOTHING_PREPARED: Prepared = {
  isReauthenticated: false,
  passwordHashes: {
    take: () => {
      throw new Error('only mutations set passwords');
    },
  },
  discoveredEndpoints: new Map(),
};

async function respond(run: Run): Promise<GraphqlResponse> {
  const { operation, fragments } = run.ready;
  if (operation.operation !== OperationTypeNode.MUTATION) {
    return query(run);
  }
  if (!run.options.allowMutation) {
    throw new DocumentError(new AppError('METHOD_NOT_ALLOWED', 'Mutations must be sent with POST.'));
  }
  // An external call may be slow, so it runs outside a transaction.
  if (isExternalCall(operation)) return executeOutsideTransaction(run);
  limitMutations(operation, fragments);
  const roles = rootFields(operation, fragments).filter(({ name }) => name.value === 'create_role').length;
  if (roles > 0) await run.options.allowance?.spend('roles', roles);
  // Each tells whether the login is taken.
  const logins = mutationInputs(run.schema, operation, fragments, run.variables).filter(
    ({ mutation, input }) => mutation === 'update_role' && input['login'] != null,
  ).length;
  if (logins > 0) await run.options.allowance?.spend('logins', logins);
  return mutate(run);
}

/** Counts the response against the budget until it is sent. Throws AppError TOO_BUSY, except for mutations, which always get a response. */
function counted({ deps, principal, ready }: Run, given: GraphqlResponse): GraphqlResponse {
  const { reserve, release } = deps.engine.responses.open(principal.tenantid);
  const refusal = reserve(given.body.length);
  if (refusal?.code === 'TOO_BUSY' && ready.operation.operation !== OperationTypeNode.MUTATION) {
    release();
    throw refusal;
  }
  return { ...given, release };
}

async function query(run: Run): Promise<GraphqlResponse> {
  const { deps, schema, ready, variables, principal } = run;
  limitUtilities(ready.operation, ready.fragments);
  const introspecting = introspectQuery(schema, ready, variables);
  const introspected = await deps.engine.planning.run(planOwnerOf(principal), introspecting);
  return run.reading.run(principal.tenantid, () => executeOutsideTransaction(run, introspected));
}

async function executeOutsideTransaction(run: Run, introspected?: Introspected): Promise<GraphqlResponse> {
  const context = contextOf(run, run.deps.database.pool, NOTHING_PREPARED, false);
  const document = introspected ? introspected.rest : run.ready.document;
  const executed = document ? await executeWith(context, run, document) : { data: {} };
  const result = introspected ? withIntrospected(executed, introspected) : executed;
  requireResponseWithin(result.data, run.deps.config.maxResponseBytes);
  return executionResponse(result, run.reportFieldError);
}

async function mutate(run: Run): Promise<GraphqlResponse> {
  const { deps, schema, ready, variables, principal, options } = run;
  const { tenantid } = principal;
  const inputs = mutationInputs(schema, ready.operation, ready.fragments, variables);
  limitNewKeys(inputs);
  const prepare = async (): Promise<Omit<Prepared, 'discoveredEndpoints'>> => ({
    isReauthenticated: await isReauthenticated(deps, principal, options, inputs),
    passwordHashes: await hashPasswords(principal, inputs),
  });
  const prepared = await (givePassword(inputs) ? run.hashing.run(tenantid, prepare) : prepare());
  return run.changing.run(tenantid, async () => {
    await learnProviders(deps, principal, options, inputs);
    const discoveredEndpoints = await discoverEndpoints(principal, options.oidcSetUp, inputs);
    const execute = (tx: StatementRunner) => executeMutations(run, tx, { ...prepared, discoveredEndpoints });
    return run.connections
      .run(tenantid, () => commitMutations(deps, execute, run.reportFieldError))
      .finally(() => {
        // Roles and rules take effect immediately in this process, and within a second in others.
        deps.principals.forget(tenantid);
      });
  });
}

async function executeMutations(
  run: Run,
  tx: StatementRunner,
  prepared: Prepared,
): Promise<{ readonly context: ControlContext; readonly result: ExecutionResult }> {
  await lockTenant(tx, run.principal.tenantid);
  const principal = await currentPrincipal(tx, run.principal);
  const context = contextOf({ ...run, principal }, tx, prepared, true);
  return { context, result: await executeWith(context, run, run.ready.document) };
}

/** What the caller may do by now: earlier changes have ended. Throws AppError TOKEN_REVOKED, TENANT_SUSPENDED. */
async function currentPrincipal(tx: StatementRunner, known: Principal): Promise<Principal> {
  const current = await readPrincipal(tx, known.tenantid, known.roleid);
  if (!current || known.tokensValidFromMs < current.tokensValidFromMs)
    throw new AppError('TOKEN_REVOKED', 'The token was revoked.');
  if (current.isSuspended) throw new AppError('TENANT_SUSPENDED', 'The tenant is suspended.');
  if (known.boundBy === undefined) return current;
  const key = current.apiKeys.find(({ keyid }) => keyid === known.boundBy);
  if (!key) throw new AppError('TOKEN_REVOKED', 'The API key was deleted.');
  return actingBy(current, key);
}

function contextOf(
  run: Run,
  db: StatementRunner,
  prepared: Prepared,
  isTransaction: boolean,
): ControlContext {
  const { deps, principal, options, composing, calling, connections, values } = run;
  const { tenantid } = principal;
  const reader = createListReader({
    database: deps.database,
    config: deps.config,
    catalog: CONTROL_CATALOG,
    visible: visibleTo(principal),
    principal,
    checkSize: limitValues,
    statementTimeoutMs: Math.min(deps.config.statementTimeoutMs, CLIENT_FILTER_MS),
    plan: (work) => deps.engine.planning.run(planOwnerOf(principal), oneStep(work)),
    connected: (work) => connections.run(tenantid, work),
  });
  // A transaction is one connection, which takes one statement at a time.
  const [fields, reads] = [new Mutex(), new Mutex()];
  const countValues = createValueCounter();
  let relatedReads = 0;
  return {
    principal,
    db,
    isTransaction,
    composing,
    calling,
    connections,
    deps,
    options,
    ...prepared,
    list: (info, table) =>
      reads.runExclusive(async () => {
        const rows = await reader.read(info, table);
        countValues(rows);
        return listedRows(rows);
      }),
    aggregate: (info) => reads.runExclusive(() => reader.aggregate(info)),
    serialize: (work) => fields.runExclusive(work),
    values,
    countRelatedRead: () => {
      if (++relatedReads <= MAX_RELATED_READS) return;
      const message = `The response leads to more than ${MAX_RELATED_READS} objects and lists.`;
      throw new AppError('DOCUMENT_TOO_COMPLEX', message);
    },
    afterCommit: [],
    failed: false,
  };
}

/** Throws AppError if the response is too large. */
async function executeWith(
  context: ControlContext,
  { schema, ready, variables, values }: Run,
  document: DocumentNode,
): Promise<ExecutionResult> {
  const result = await execute({
    schema,
    document,
    contextValue: context,
    variableValues: variables,
    operationName: ready.operation.name?.value ?? null,
    fieldResolver: (source: unknown, args, shared: ControlContext, info) =>
      values.keep(info.path.key, resolveField(source, args, shared, info)),
  });
  values.requireAll();
  return result;
}
