import type { GraphQLSchema } from 'graphql';
import type { AnswerBudget, AnswerShare } from '../db/answerBudget.js';
import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Catalog } from '../db/catalog/catalog.js';
import type { Principal } from '../db/principal.js';
import type { Transactions } from '../db/connection/transactions.js';
import { AppError } from '../errors.js';
import type { Logger } from '../log.js';
import { FieldError } from './answer.js';
import { assemble, type Execution } from './assemble.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { ReadyDocument } from './document/document.js';
import { shapeKey } from './document/shapers.js';
import { coerceVariables } from './document/variables.js';
import { createAliasSource } from './filter/scope.js';
import type { FilesOfEmail, FileUrls } from './files/fileUrls.js';
import { introspect } from './introspect.js';
import type { FilterTexts } from './plan/filterTexts.js';
import type { IntrospectionField, Plan, StatementField } from './plan/plan.js';
import type { PlanCache } from './plan/planCache.js';
import { plannerOf } from './plan/planner.js';
import type { PlanningQueue } from './plan/planningQueue.js';
import { planOperation, type PlanLimits } from './plan/planOperation.js';
import { policyFingerprint, policyOf, principalInputs } from './policy/policy.js';
import { inputsOf, runPlan, type FieldResult } from './runPlan.js';
import { runUtilities } from './runUtilities.js';
import type { TenantSchema, TenantSchemas } from './schema/tenantSchema.js';
import { visibleCatalog } from './schema/visibleCatalog.js';
import { complete, type Steps } from './steps.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface EngineDeps {
  readonly catalogs: CatalogStore;
  readonly schemas: TenantSchemas;
  readonly plans: PlanCache;
  readonly planning: PlanningQueue;
  readonly filters: FilterTexts;
  readonly transactions: Transactions;
  readonly limits: PlanLimits;
  readonly answers: AnswerBudget;
  readonly log: Logger;
  readonly fileUrls: FileUrls;
  /** A mutation was committed. */
  readonly onCommitted?: () => void;
}

export interface PreparedRequest {
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly plan: Plan;
}

export interface ExecuteOptions {
  readonly allowMutation: boolean;
  /** Counts the rows of the answer. */
  readonly answer: AnswerShare;
  /** Where the answer goes into an email: its files. */
  readonly email?: FilesOfEmail;
  /** Runs a plan when it may. */
  readonly admit: <T>(prepared: PreparedRequest, work: () => Promise<T>) => Promise<T>;
}

/** request → plan → statements → transaction → answer. Throws DocumentError, FieldError, AppError. */
export async function executeRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
  { allowMutation, answer, email, admit }: ExecuteOptions,
): Promise<Execution> {
  const { tenantid, schema } = principal;
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  return withCurrentCatalog(deps.catalogs, tenantid, schema, async (catalog) => {
    const tenantSchema = deps.schemas.of(email ? catalog : visibleCatalog(principal, catalog));
    const steps = prepare(deps, principal, { ...tenantSchema, whole: catalog }, request, email !== undefined);
    const planner = plannerOf(principal);
    // What an administrator saved for emails is not held up by what callers send.
    const prepared = email ? complete(steps) : await deps.planning.run(planner, steps);
    const { variables, plan } = prepared;
    if (plan.kind === 'mutation' && !allowMutation) {
      throw new AppError('METHOD_NOT_ALLOWED', 'A mutation can only be sent by POST.');
    }
    const introspections = plan.fields.some(({ kind }) => kind === 'introspection')
      ? await deps.planning.run(
          planner,
          introspectFields(prepared, tenantSchema.schema, deps.limits.answerBytes, answer),
        )
      : NONE;
    const inputs = inputsOf(plan, variables, deps.filters, principalInputs(principal));
    return admit(prepared, async () => {
      const answers = await runPlan(plan, deps.transactions, tenantid, inputs, answer, catalog);
      const results = plan.hasFileMarks ? withFileUrls(deps, principal, answers, email) : answers;
      if (plan.kind === 'mutation') deps.onCommitted?.();
      const utilities = await runUtilities(plan, deps, principal, schema, answer);
      return assemble(plan, { results, utilities, introspections });
    });
  });
}

/** The plan of a request, which is not run. Throws DocumentError, FieldError, AppError. */
export async function planRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
): Promise<Plan> {
  const { tenantid, schema } = principal;
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  return withCurrentCatalog(deps.catalogs, tenantid, schema, (catalog) => {
    const tenantSchema = { ...deps.schemas.of(visibleCatalog(principal, catalog)), whole: catalog };
    return complete(prepare(deps, principal, tenantSchema, request, false)).plan;
  });
}

const NONE: ReadonlyMap<IntrospectionField, FieldResult> = new Map();

/** What `__schema` and `__type` give. */
function* introspectFields(
  { plan, ready: { fragments }, variables }: PreparedRequest,
  schema: GraphQLSchema,
  mostCharacters: number,
  answer: AnswerShare,
): Steps<typeof NONE> {
  const results = new Map<IntrospectionField, FieldResult>();
  for (const field of plan.fields) {
    if (field.kind !== 'introspection') continue;
    const json = yield* introspect({ schema, fragments, variables, mostCharacters }, field.nodes);
    const error = answer.take(json.length);
    if (error) throw new FieldError(error, [field.key], field.nodes);
    results.set(field, json);
  }
  return results;
}

function withFileUrls(
  { fileUrls }: EngineDeps,
  principal: Principal,
  answers: ReadonlyMap<StatementField, FieldResult>,
  email: FilesOfEmail | undefined,
): ReadonlyMap<StatementField, FieldResult> {
  const written = (result: FieldResult): FieldResult =>
    typeof result === 'string' ? fileUrls.write(result, principal, email) : result;
  return new Map([...answers].map(([field, result]) => [field, written(result)]));
}

/** A hit in the caches parses, validates and builds nothing. */
function* prepare(
  deps: EngineDeps,
  principal: Principal,
  tenantSchema: TenantSchema & { readonly whole: Catalog },
  request: GraphqlRequest,
  isForTemplates: boolean,
): Steps<PreparedRequest> {
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const planner = plannerOf(principal);
  const { ready, id } = yield* deps.plans.document(planner, tenantSchema, query, operationName);
  const variables = coerceVariables(schema, ready, request.variables);
  const shape = shapeKey(ready.shapers, variables, deps.filters);
  const rules = `${isForTemplates ? 'templates ' : ''}${policyFingerprint(principal)}`;
  const plan = yield* deps.plans.plan(planner, id, rules, shape, () => {
    const aliases = createAliasSource();
    const policy = policyOf(principal, { catalog: tenantSchema.whole, aliases, log: deps.log });
    const files = deps.fileUrls.terms;
    return planOperation(ready, variables, {
      catalog,
      schema,
      policy,
      aliases,
      limits: deps.limits,
      files,
      marksNumerics: isForTemplates,
    });
  });
  return { ready, variables, plan };
}
