import type { AnswerBudget, AnswerShare } from '../db/answerBudget.js';
import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Principal } from '../db/principal.js';
import { tenantRole, type Transactions } from '../db/tenantTransaction.js';
import { AppError } from '../errors.js';
import type { Logger } from '../log.js';
import { assemble, type Execution } from './assemble.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { ReadyDocument } from './document/document.js';
import { shapeKey } from './document/shapers.js';
import { coerceVariables } from './document/variables.js';
import { createAliasSource } from './filter/scope.js';
import type { FilesOfEmail, FileUrls } from './files/fileUrls.js';
import type { FilterTexts } from './plan/filterTexts.js';
import type { Plan, StatementField } from './plan/plan.js';
import type { PlanCache } from './plan/planCache.js';
import { planOperation, type PlanLimits } from './plan/planOperation.js';
import { policyFingerprint, policyOf, principalInputs } from './policy/policy.js';
import { inputsOf, runPlan, type FieldResult } from './runPlan.js';
import { runUtilities } from './runUtilities.js';
import type { TenantSchema, TenantSchemas } from './schema/tenantSchema.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface EngineDeps {
  readonly catalogs: CatalogStore;
  readonly schemas: TenantSchemas;
  readonly plans: PlanCache;
  readonly filters: FilterTexts;
  readonly transactions: Transactions;
  readonly limits: PlanLimits;
  readonly answers: AnswerBudget;
  readonly log: Logger;
  readonly fileUrls: FileUrls;
  /** A mutation was committed. */
  readonly onCommitted?: () => void;
}

interface PreparedRequest {
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly plan: Plan;
}

/** request → plan → statements → transaction → answer, whose rows are counted as `answer`. Throws DocumentError, FieldError, AppError. */
export async function executeRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
  allowMutation: boolean,
  answer: AnswerShare,
  email?: FilesOfEmail,
): Promise<Execution> {
  const { tenantid, schema } = principal;
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  return withCurrentCatalog(deps.catalogs, tenantid, schema, async (catalog) => {
    const tenantSchema = deps.schemas.of(catalog);
    const { ready, variables, plan } = prepare(deps, principal, tenantSchema, request);
    if (plan.kind === 'mutation' && !allowMutation) {
      throw new AppError('METHOD_NOT_ALLOWED', 'A mutation can only be sent by POST.');
    }
    const inputs = inputsOf(plan, variables, deps.filters, principalInputs(principal));
    const answers = await runPlan(plan, deps.transactions, tenantRole(tenantid), inputs, answer);
    const results = plan.hasFileMarks ? withFileUrls(deps, principal, answers, email) : answers;
    if (plan.kind === 'mutation') deps.onCommitted?.();
    const utilities = await runUtilities(plan, deps, principal, schema, answer);
    return assemble(plan, { results, utilities, schema: tenantSchema.schema, ready, variables });
  });
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
function prepare(
  deps: EngineDeps,
  principal: Principal,
  tenantSchema: TenantSchema,
  request: GraphqlRequest,
): PreparedRequest {
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const { ready, id } = deps.plans.document(principal.tenantid, tenantSchema, query, operationName);
  const variables = coerceVariables(schema, ready, request.variables);
  const shape = shapeKey(ready.shapers, variables, deps.filters);
  const plan = deps.plans.plan(id, policyFingerprint(principal), shape, () => {
    const aliases = createAliasSource();
    const policy = policyOf(principal, { catalog, aliases, log: deps.log });
    const files = deps.fileUrls.terms;
    return planOperation(ready, variables, { catalog, schema, policy, aliases, limits: deps.limits, files });
  });
  return { ready, variables, plan };
}
